package scheduler

import (
	"context"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
)

// Open opens a session in which nothing is to be done yet, about a message that goes to the model with its first prompt, as data, and binds it to its place. With
// n.Join a place that is bound to an open session keeps it: that session is returned, and opened is false.
func (s *Scheduler) Open(ctx context.Context, owner core.Person, place core.Place, n NewSession, about core.Inbound) (sess core.Session, opened bool, err error) {
	n.Bind = true
	sub := Submission{New: &n, Author: owner, Place: place, Text: about.Text}
	err = state.Retry(ctx, "open session", func() error {
		a := newAcceptance(s)
		if err := a.read(ctx, []Submission{sub}); err != nil {
			return err
		}
		if id := a.joined(sub); id != "" {
			sess, opened = a.sessions[id].Value, false
			return nil
		}
		now := s.clock.Now()
		d := a.open(sub, now)
		d.Value.About, d.Value.Touched = &about, now
		a.batch.Append(state.Audit, audit.Entry{Time: now, What: "opened", Session: d.Value.Ref, Who: owner, Show: about.Text})
		if err := a.commit(ctx); err != nil {
			return fmt.Errorf("open session: %w", err)
		}
		sess, opened = d.Value, true
		return nil
	})
	return sess, opened, err
}

// open opens a session.
func (a *acceptance) open(sub Submission, now time.Time) *state.Doc[core.Session] {
	v := core.Session{ID: core.NewID[core.SessionID](now), Ref: core.NewRef(), Title: core.Title(sub.New.Title, sub.Text), Workspace: sub.New.Workspace,
		Owner: sub.Author, Place: sub.Place, Mode: sub.New.Mode, Created: now}
	if v.Mode == "" {
		v.Mode = core.ModeAsk
	}
	if sub.New.Isolated || a.s.cfg.Isolated(v.Workspace) {
		v.Worktree = &core.Worktree{}
	}
	a.batch.Name(v.Ref, state.Named{Kind: state.NamedSession, ID: string(v.ID), Session: v.ID})
	if sub.New.Bind {
		b := a.bind(sub.Place)
		b.session, b.changed = v.ID, true
	}
	d := &state.Doc[core.Session]{Value: v}
	a.sessions[v.ID] = d
	a.changed = append(a.changed, v.ID)
	return d
}
