package scheduler

import (
	"context"
	"fmt"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Open opens a session in which nothing is to be done yet, about a message that goes to the model with its first prompt, as data, and binds it to its place. With
// n.Join a place that is bound to an open session keeps it: that session is returned, and opened is false.
func (s *Scheduler) Open(ctx context.Context, owner core.Person, place core.Place, n NewSession, about core.Inbound) (sess core.Session, opened bool, err error) {
	n.Bind = true
	sub := Submission{New: &n, Author: owner, Place: place, Text: about.Text}
	err = s.retry(ctx, "open session", func() error {
		a := acceptance{s: s, sessions: map[core.SessionID]*state.Doc[core.Session]{}, seen: map[string]Seen{}, binds: map[store.Key]*bind{}}
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
		a.batch.Append(state.Audit, Entry{Time: now, What: "opened", Session: d.Value.Ref, Who: owner, Show: about.Text})
		_, _, err := a.commit(ctx)
		if err != nil {
			return fmt.Errorf("open session: %w", err)
		}
		sess, opened = d.Value, true
		return nil
	})
	return sess, opened, err
}
