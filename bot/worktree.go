package bot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/state"
	"paragents/core/worktree"
)

// at is where an isolated session works, as far as this replica can say.
func (c Config) at(sess core.Session) (worktree.At, error) {
	if sess.Worktree == nil || !sess.Worktree.Made || c.Git == nil {
		return worktree.At{}, fmt.Errorf("%w: "+saysNotApart, core.ErrRefused, plain(sess))
	}
	dir, err := c.dir(sess.Workspace)
	return worktree.At{Workspace: dir, Session: sess}, err
}

func workCard(id core.SessionID) string { return "work/" + string(id) }

// work is the card of what lies in an isolated session's worktree, or what became of it.
func (s *Screen) work(ctx context.Context, l core.Letter, caps core.Capabilities) (delivery.Rendered, error) {
	var bs buttons
	var p page
	var out delivery.Rendered
	e, word := l.Event, core.Done
	order := func(label, style, command string) core.Button {
		return bs.add(label, style, press{Do: doCommand, Command: command, Session: l.SessionID})
	}
	keep, discard := order(labelKeep, "", "keep "+string(e.Session)), order(labelDiscard, "danger", "discard "+string(e.Session))
	switch st := core.WorkState(e.State); st {
	case core.WorkOpen:
		views, err := s.s.Views(ctx, []core.SessionID{l.SessionID})
		if err != nil || len(views) == 0 {
			return out, err
		}
		var w worktree.Work
		if p, w, err = s.cfg.workPage(ctx, views[0].Session); errors.Is(err, fs.ErrNotExist) || err == nil && w.Empty() {
			return out, nil // nothing has to be decided
		} else if err != nil {
			s.cfg.Logger.Error("cannot look into a worktree", "session", e.Session, "error", err)
			p = page{text: fmt.Sprintf(saysTreeTrouble, escape(trim(err)))}
			break
		}
		p.rows = [][]core.Button{{order(labelMerge, "primary", "merge "+string(e.Session)+" "+w.Digest), keep}, {discard}}
		if !caps.Buttons {
			p.text += fmt.Sprintf(saysWorkTyped, caps.Slash, e.Session, caps.Slash, e.Session, caps.Slash, e.Session)
		}
	case core.WorkConflict:
		p.text = fmt.Sprintf(saysMergeConflict, code(e.Text), person(e.By), files(e.Paths))
		p.rows = [][]core.Button{{order(labelResolve, "primary", "resolve "+string(e.Session)), keep}, {discard}}
		if !caps.Buttons {
			p.text += fmt.Sprintf(saysResolveTyped, caps.Slash, e.Session)
		}
	case core.WorkMerged:
		p.text = fmt.Sprintf(saysMerged, code(e.Text), person(e.By), files(e.Paths))
	case core.WorkGiven:
		p.text, word = fmt.Sprintf(saysGiven, files(e.Paths), person(e.By)), core.Queued
	case core.WorkKept:
		p.text = fmt.Sprintf(saysKept, code(core.BranchOf(e.Session)), code(e.Text), person(e.By))
	case core.WorkDiscarded:
		p.text = fmt.Sprintf(saysDiscarded, person(e.By))
	}
	p.head, p.card = s.head(l, caps, word), workCard(l.SessionID)
	ms := s.cfg.messages(p, caps, l.Place)
	if core.WorkState(e.State) == core.WorkOpen {
		if !caps.Lines { // one place to decide: an older card loses its buttons
			ms = append(replacing(s.cfg.messages(page{head: p.head, text: saysWorkBelow}, caps, l.Place), p.card), ms...)
		}
		ms = loud(ms, l.Loud)
	} else if n := len(ms); n > 0 {
		ms[n-1].Replace, ms[n-1].Silent = true, false
	}
	out.Messages = ms
	if len(p.rows) > 0 && caps.Buttons {
		out.Put = bs.put
	}
	return out, nil
}

// workPage shows what lies in a session's worktree, with the difference; one that is too long is a file.
func (c Config) workPage(ctx context.Context, sess core.Session) (page, worktree.Work, error) {
	at, err := c.at(sess)
	if err != nil {
		return page{}, worktree.Work{}, err
	}
	w, err := c.Git.Work(ctx, at)
	if err != nil {
		return page{}, w, err
	}
	if w.Empty() {
		return page{text: fmt.Sprintf(saysNoWork, named(sess), code(sess.Worktree.Base), code(at.Dir()))}, w, nil
	}
	diff, err := c.Git.Diff(ctx, at, w)
	if err != nil {
		return page{}, w, err
	}
	diff = strings.ToValidUTF8(diff, "\uFFFD")
	if c.Redact != nil {
		diff = c.Redact(diff)
	}
	var b strings.Builder
	fmt.Fprintf(&b, saysWork, count(len(w.Files), "file"), w.Added, w.Deleted, held(w), code(core.BranchOf(sess.Ref)), code(sess.Worktree.Base), code(at.Dir()))
	p := page{}
	switch {
	case diff == "":
	case strings.Count(diff, "\n") > diffLines:
		fmt.Fprintf(&b, "%s\n%s", files(w.Files), saysInFile)
		p.file = &core.File{Name: string(sess.Ref) + ".diff", Data: []byte(diff)}
	default:
		b.WriteString(fence(strings.TrimSuffix(diff, "\n")))
	}
	p.text = b.String()
	return p, w, nil
}

// held says of what a session's work consists.
func held(w worktree.Work) string {
	var parts []string
	if w.Commits > 0 {
		parts = append(parts, count(w.Commits, "commit"))
	}
	if w.Uncommitted {
		parts = append(parts, saysUncommitted)
	}
	return strings.Join(parts, saysAnd)
}

// count is a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}

// showWork is the command diff for an isolated session.
func (d *Desk) showWork(ctx context.Context, v *visit, sess core.Session) error {
	p, _, err := d.cfg.workPage(ctx, sess)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: "+saysNoTree, core.ErrRefused, plain(sess))
	}
	if err == nil {
		v.out = append(v.out, p)
	}
	return err
}

// offersApart says whether the conflict of a letter is a repository's first, so that a session with a worktree of its own is offered: then it returns what remembers that.
func (s *Screen) offersApart(ctx context.Context, l core.Letter) (func(*state.Batch), error) {
	if s.cfg.Git == nil || s.s == nil {
		return nil, nil
	}
	_, sess, err := s.s.Prompt(ctx, l.PromptID)
	if err != nil || sess.Worktree != nil {
		return nil, ignored(err, core.ErrNotFound)
	}
	key := state.OfferedKey(sess.Workspace)
	before, _, err := state.Get[offered](ctx, s.cfg.Store, key)
	if err != nil || before.Exists() && before.Value.Prompt != l.PromptID {
		return nil, err
	}
	dir, err := s.cfg.dir(sess.Workspace)
	if err == nil {
		_, err = s.cfg.Git.Begin(ctx, dir)
	}
	if err != nil {
		return nil, ignored(err, core.ErrNotFound, core.ErrRefused) // not here, or no repository
	}
	return func(b *state.Batch) { b.Put(key, offered{Prompt: l.PromptID}, 0) }, nil
}

// offered is the conflict in whose card a workspace's people were told of isolated sessions.
type offered struct {
	Prompt core.PromptID `json:"prompt"`
}

// ignored is an error, unless it is one of those that mean nothing here.
func ignored(err error, harmless ...error) error {
	for _, h := range harmless {
		if errors.Is(err, h) {
			return nil
		}
	}
	return err
}
