// Package audit is the record of what was asked, shown, decided and done: append-only, in the same commit as what it tells of, and sealed by
// hashes, so that a changed or missing entry shows.
//
// Entries are written by any replica at any time, so a chain through every single one would make them wait for each other. Instead one
// replica at a time seals what has come: a seal holds the hash of the seal before it and of all entries since. What is not sealed yet is said so.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Keep is how long entries are kept.
const Keep = 400 * 24 * time.Hour

// Entry is one line of the audit log.
type Entry struct {
	Time    time.Time    `json:"time"`
	What    string       `json:"what"` // accepted, asked, decided, started, refused, refused press, ended, ordered, taken over, paired, access …
	Session core.Ref     `json:"session,omitempty"`
	Prompt  core.Ref     `json:"prompt,omitempty"`
	Request core.Ref     `json:"request,omitempty"`
	Who     core.Person  `json:"who,omitempty"` // whose doing it was
	Tool    string       `json:"tool,omitempty"`
	Show    string       `json:"show,omitempty"`   // what was shown, whole
	Checks  []string     `json:"checks,omitempty"` // the action in the terms of the rules: Bash(…), Write(…)
	Space   string       `json:"workspace,omitempty"`
	Digest  string       `json:"digest,omitempty"`
	Rule    string       `json:"rule,omitempty"`
	Outcome string       `json:"outcome,omitempty"`
	Why     string       `json:"why,omitempty"`
	Trace   core.TraceID `json:"trace_id,omitempty"`
}

// Filter says which entries to read. Zero fields let everything through.
type Filter struct {
	Session core.Ref
	Request core.Ref
	Who     core.Person
	Since   time.Time
	What    string
}

func (f Filter) fits(e Entry) bool {
	return (f.Session == "" || e.Session == f.Session) && (f.Request == "" || e.Request == f.Request) && (f.Who == "" || e.Who == f.Who) &&
		(f.What == "" || e.What == f.What) && !e.Time.Before(f.Since)
}

// Read gives the entries that fit, oldest first, until give returns an error.
func Read(ctx context.Context, s store.Store, f Filter, give func(Entry) error) error {
	return walk(ctx, s, state.Audit, 0, func(r store.Record) error {
		var e Entry
		if err := json.Unmarshal(r.Value, &e); err != nil {
			return fmt.Errorf("read audit log at %d: %w", r.Position, err)
		}
		if !f.fits(e) {
			return nil
		}
		return give(e)
	})
}

// Last reads the newest entries that fit, oldest first, at most n.
func Last(ctx context.Context, s store.Store, f Filter, n int) ([]Entry, error) {
	var out []Entry
	err := Read(ctx, s, f, func(e Entry) error {
		if out = append(out, e); len(out) > n {
			out = out[1:]
		}
		return nil
	})
	return out, err
}

// walk goes through a log from a position on.
func walk(ctx context.Context, s store.Store, log store.Log, from int64, do func(store.Record) error) error {
	for {
		page, err := s.Read(ctx, log, from, 0)
		if err != nil {
			return fmt.Errorf("read log %s: %w", log, err)
		}
		for _, r := range page {
			if err := do(r); err != nil {
				return err
			}
			from = r.Position + 1
		}
		if len(page) < store.MaxScan {
			return nil
		}
	}
}

// seal closes the entries of a stretch of the log.
type seal struct {
	From  int64     `json:"from"` // position of the first entry
	To    int64     `json:"to"`   // and of the last
	Count int       `json:"count"`
	Prev  string    `json:"prev"` // hash of the seal before
	Hash  string    `json:"hash"` // SHA-256 of Prev and every entry, in hex
	Time  time.Time `json:"time"`
}

// head is the last seal, in a document of its own, so that two sealers cannot both go on from it.
type head struct {
	Next int64  `json:"next"` // first position that is not sealed
	Hash string `json:"hash"`
}

// maxSealed is how many entries one seal closes at most.
const maxSealed = 10_000

// Seal closes what has come since the last seal. Any replica may do it at any time; of two at once one does.
func Seal(ctx context.Context, s store.Store) error {
	h, now, err := state.Get[head](ctx, s, state.SealKey)
	if err != nil {
		return err
	}
	next := seal{From: -1, Prev: h.Value.Hash, Time: now}
	sum := sha256.New()
	sum.Write([]byte(next.Prev))
	records, err := s.Read(ctx, state.Audit, h.Value.Next, 0)
	for err == nil && len(records) > 0 && next.Count < maxSealed {
		for _, r := range records {
			if next.From < 0 {
				next.From = r.Position
			}
			sum.Write(r.Value)
			sum.Write([]byte{'\n'})
			next.To = r.Position
			next.Count++
		}
		records, err = s.Read(ctx, state.Audit, next.To+1, 0)
	}
	if err != nil || next.Count == 0 {
		return err
	}
	next.Hash = hex.EncodeToString(sum.Sum(nil))
	var b state.Batch
	b.Update(state.SealKey, h.Version, head{Next: next.To + 1, Hash: next.Hash})
	b.Append(state.Seals, next)
	_, err = b.Commit(ctx, s)
	return err
}

// Expire removes entries, and the seals over them, that are older than Keep: at most a page at a time.
func Expire(ctx context.Context, s store.Store) error {
	snap, err := s.Get(ctx, state.SealKey)
	if err != nil {
		return err
	}
	old := snap.Time.Add(-Keep)
	seals, err := s.Read(ctx, state.Seals, 0, 0)
	if err != nil {
		return err
	}
	var b state.Batch
	for _, r := range seals {
		var x seal
		if err := json.Unmarshal(r.Value, &x); err != nil {
			return fmt.Errorf("read seal at %d: %w", r.Position, err)
		}
		if !x.Time.Before(old) { // whole stretches only, so that what is left can be verified
			break
		}
		b.Trim = []store.Trim{{Log: state.Audit, Before: x.To + 1}, {Log: state.Seals, Before: r.Position + 1}}
	}
	if len(b.Trim) == 0 {
		return nil
	}
	_, err = b.Commit(ctx, s)
	return err
}

// Report is what Verify found.
type Report struct {
	Entries  int
	Seals    int
	Unsealed int      // entries that came after the last seal
	Problems []string // none: nothing was changed
}

// Verify compares the log with its seals. Entries that Expire removed are gone with their seals and not missed; everything else is.
func Verify(ctx context.Context, s store.Store) (Report, error) {
	var out Report
	var seals []seal
	err := walk(ctx, s, state.Seals, 0, func(r store.Record) error {
		var x seal
		if err := json.Unmarshal(r.Value, &x); err != nil {
			return fmt.Errorf("read seal at %d: %w", r.Position, err)
		}
		seals = append(seals, x)
		return nil
	})
	if err != nil {
		return out, err
	}
	out.Seals = len(seals)
	for i := 1; i < len(seals); i++ {
		if seals[i].Prev != seals[i-1].Hash {
			out.Problems = append(out.Problems, fmt.Sprintf("the seal of %s does not follow the one before it", seals[i].Time.Format(time.RFC3339)))
		}
	}
	h, _, err := state.Get[head](ctx, s, state.SealKey)
	if err != nil {
		return out, err
	}
	if n := len(seals); n > 0 && h.Value.Hash != seals[n-1].Hash {
		out.Problems = append(out.Problems, "the last seal is not the one that was made last")
	}
	i, count := 0, 0
	sum := sha256.New()
	begin := func() {
		sum.Reset()
		count = 0
		if i < len(seals) {
			sum.Write([]byte(seals[i].Prev))
		}
	}
	end := func() {
		x := seals[i]
		if count != x.Count || hex.EncodeToString(sum.Sum(nil)) != x.Hash {
			out.Problems = append(out.Problems, fmt.Sprintf("entries sealed at %s were changed, added or removed", x.Time.Format(time.RFC3339)))
		}
		i++
		begin()
	}
	begin()
	err = walk(ctx, s, state.Audit, 0, func(r store.Record) error {
		for i < len(seals) && r.Position > seals[i].To {
			end()
		}
		out.Entries++
		if i >= len(seals) {
			if out.Unsealed++; r.Position < h.Value.Next {
				out.Problems = append(out.Problems, fmt.Sprintf("the seal over the entry at %d is gone", r.Position))
			}
			return nil
		}
		sum.Write(r.Value)
		sum.Write([]byte{'\n'})
		count++
		return nil
	})
	if err != nil {
		return out, err
	}
	for i < len(seals) {
		end()
	}
	return out, nil
}

// Receipt is what Check found about one approval: that what was shown, what was approved and what ran are the same, once, as far as it has come.
type Receipt struct {
	Lines    []string // what happened, in order
	Problems []string // none: it is so
	Proven   Proven   // without problems
}

// Proven is how far the same action has come.
type Proven string

const (
	ProvenShown    Proven = "shown"    // it is not decided, and nothing ran
	ProvenRefused  Proven = "refused"  // nobody approved it, and nothing ran
	ProvenApproved Proven = "approved" // as it was shown; nothing has run
	ProvenStarted  Proven = "started"  // as it was shown and approved, once; how it ended is not known
	ProvenRun      Proven = "run"      // as it was shown and approved, once
)

// Check compares an approval with the audit log and its session's transcript.
func Check(ctx context.Context, s store.Store, id core.ApprovalID) (Receipt, error) {
	var out Receipt
	a, _, err := state.Get[core.Approval](ctx, s, state.ApprovalKey(id))
	if err != nil {
		return out, err
	}
	if !a.Exists() {
		return out, fmt.Errorf("approval: %w", core.ErrNotFound)
	}
	v := a.Value
	problem := func(format string, args ...any) { out.Problems = append(out.Problems, fmt.Sprintf(format, args...)) }
	if got := v.Action.Digest(); got != v.Digest {
		problem("the stored action has digest %.12s, and %.12s was approved", got, v.Digest)
	}
	counts := map[string]int{}
	err = Read(ctx, s, Filter{Request: v.Ref}, func(e Entry) error {
		counts[e.What]++
		out.Lines = append(out.Lines, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s by %s, digest %.12s", e.Time.Format(time.RFC3339), e.What, e.Outcome, e.Who, e.Digest)), " "))
		if e.Digest != v.Digest {
			problem("%s with digest %.12s instead of %.12s", e.What, e.Digest, v.Digest)
		}
		if e.Show != v.Action.Show {
			problem("%s with another text than the approval has", e.What)
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	begun, known := 0, false // what ran, and whether its end is known
	err = walk(ctx, s, state.Transcript(v.Session), 0, func(r store.Record) error {
		var rec core.Record
		if err := json.Unmarshal(r.Value, &rec); err != nil {
			return fmt.Errorf("read transcript at %d: %w", r.Position, err)
		}
		switch {
		case rec.Kind == core.RecordIntent && rec.Approval == id:
			begun++
			out.Lines = append(out.Lines, fmt.Sprintf("%s started: %s, digest %.12s", rec.Time.Format(time.RFC3339), rec.Show, rec.Digest))
			if rec.Digest != v.Digest {
				problem("what ran has digest %.12s, and %.12s was approved", rec.Digest, v.Digest)
			}
		case rec.Kind == core.RecordResult && rec.Call == v.Call && rec.Prompt == v.Prompt:
			known = known || rec.Ending != core.EndUnknown
			out.Lines = append(out.Lines, fmt.Sprintf("%s result: %s", rec.Time.Format(time.RFC3339), rec.Ending))
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	switch {
	case begun > 1:
		problem("it ran %d times", begun)
	case begun == 1 && v.State != core.Approved:
		problem("it ran, and is %s", v.State)
	case begun == 1 && v.Used.IsZero():
		problem("it ran, and the approval does not know of it")
	}
	if counts["decided"] > 1 {
		problem("it was decided %d times", counts["decided"])
	}
	switch {
	case v.State == core.Pending:
		out.Proven = ProvenShown
	case v.State != core.Approved:
		out.Proven = ProvenRefused
	case begun == 0:
		out.Proven = ProvenApproved
	case !known:
		out.Proven = ProvenStarted
	default:
		out.Proven = ProvenRun
	}
	return out, nil
}
