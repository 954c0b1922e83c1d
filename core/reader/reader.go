// Package reader reads sessions, prompts and approvals for whoever shows or changes them.
package reader

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Reader reads from a store, and notes its time.
type Reader struct {
	store store.Store
	clock *state.Clock
}

// New makes a reader.
func New(st store.Store, clock *state.Clock) *Reader { return &Reader{store: st, clock: clock} }

// Find follows a ref. It returns ErrNotFound when nothing has the ref.
func (r *Reader) Find(ctx context.Context, ref core.Ref) (state.Named, error) {
	n, _, err := state.Get[state.Named](ctx, r.store, state.RefKey(ref))
	if err != nil {
		return state.Named{}, err
	}
	if !n.Exists() {
		return state.Named{}, fmt.Errorf("%s: %w; list shows the sessions, approvals the questions", ref, core.ErrNotFound)
	}
	return n.Value, nil
}

// Pair is a prompt with its session, as read together.
type Pair struct {
	Session state.Doc[core.Session]
	Prompt  state.Doc[core.Prompt]
}

// Load reads a prompt and its session.
func (r *Reader) Load(ctx context.Context, id core.PromptID) (Pair, error) {
	var out Pair
	var err error
	if out.Prompt, _, err = state.Get[core.Prompt](ctx, r.store, state.PromptKey(id)); err != nil {
		return out, err
	}
	if !out.Prompt.Exists() {
		return out, fmt.Errorf("prompt %s: %w", id, core.ErrNotFound)
	}
	snap, err := r.store.Get(ctx, state.SessionKey(out.Prompt.Value.Session), state.PromptKey(id))
	if err != nil {
		return out, err
	}
	r.clock.Observe(snap.Time)
	if out.Session, err = state.Decode[core.Session](state.SessionKey(out.Prompt.Value.Session), snap.Docs[0]); err != nil {
		return out, err
	}
	out.Prompt, err = state.Decode[core.Prompt](state.PromptKey(id), snap.Docs[1])
	return out, err
}

// Prompt reads one prompt and its session.
func (r *Reader) Prompt(ctx context.Context, id core.PromptID) (core.Prompt, core.Session, error) {
	p, err := r.Load(ctx, id)
	return p.Prompt.Value, p.Session.Value, err
}

// Waiting returns the approvals that wait, the oldest first, at most limit.
func (r *Reader) Waiting(ctx context.Context, limit int) ([]core.Approval, error) {
	page, err := r.store.Scan(ctx, state.Pending, store.Range{Limit: limit})
	if err != nil {
		return nil, err
	}
	keys := make([]store.Key, len(page.Entries))
	for i, e := range page.Entries {
		keys[i] = state.ApprovalKey(core.ApprovalID(e.Member))
	}
	docs, _, err := state.GetAll[core.Approval](ctx, r.store, keys)
	if err != nil {
		return nil, err
	}
	var out []core.Approval
	for _, d := range docs {
		if d.Value.State == core.Pending {
			out = append(out, d.Value)
		}
	}
	return out, nil
}

// Approval reads one approval.
func (r *Reader) Approval(ctx context.Context, id core.ApprovalID) (core.Approval, error) {
	a, _, err := state.Get[core.Approval](ctx, r.store, state.ApprovalKey(id))
	if err == nil && !a.Exists() {
		err = fmt.Errorf("approval: %w", core.ErrNotFound)
	}
	return a.Value, err
}

// StoredRules reads what people stored for a session or a workspace.
func (r *Reader) StoredRules(ctx context.Context, key store.Key) (state.Rules, error) {
	d, _, err := state.Get[state.Rules](ctx, r.store, key)
	return d.Value, err
}

// Transcript reads a session's records, oldest first.
func (r *Reader) Transcript(ctx context.Context, id core.SessionID) ([]core.Record, error) {
	raw, err := r.log(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	return decode(nil, raw)
}

// log reads the records of a session's transcript from a position on.
func (r *Reader) log(ctx context.Context, id core.SessionID, from int64) ([]store.Record, error) {
	var out []store.Record
	for {
		page, err := r.store.Read(ctx, state.Transcript(id), from, 0)
		if err != nil {
			return nil, fmt.Errorf("read transcript: %w", err)
		}
		out = append(out, page...)
		if len(page) < store.MaxScan {
			return out, nil
		}
		from = page[len(page)-1].Position + 1
	}
}

// decode adds what was read to records.
func decode(records []core.Record, raw []store.Record) ([]core.Record, error) {
	records = slices.Grow(records, len(raw))
	for _, r := range raw {
		var rec core.Record
		if err := json.Unmarshal(r.Value, &rec); err != nil {
			return nil, fmt.Errorf("read transcript at %d: %w", r.Position, err)
		}
		records = append(records, rec)
	}
	return records, nil
}

// Size is how many bytes a session's transcript has.
func (r *Reader) Size(ctx context.Context, id core.SessionID) (int64, error) {
	snap, err := r.store.Get(ctx, state.SizeKey(id))
	if err != nil || snap.Docs[0].Version == 0 {
		return 0, err
	}
	var n int64
	if _, err := fmt.Sscan(string(snap.Docs[0].Value), &n); err != nil {
		return 0, fmt.Errorf("read size of session %s: %w", id, err)
	}
	return n, nil
}
