package scheduler

import (
	"context"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/state"
)

// borrowed is how long a person's claims last if their end is not seen; what is done under them takes a moment.
const borrowed = 30 * time.Second

// Loan is what a person writes by a command, as undo and merge do.
type Loan struct {
	What   string        // the command, for the audit log
	Prompt core.PromptID // that it is about
	Paths  []string
	Shared bool // in the workspace's directory, though the session may be isolated
	Who    core.Person
}

// Borrow lets a person write paths of a workspace by a command: do runs while they are claimed, and what it returns is recorded. When a live prompt holds one of them, nothing runs,
// and the error is a *Collision.
func (s *Scheduler) Borrow(ctx context.Context, n Loan, do func() (outcome string)) error {
	var sess core.Session
	var prompt core.Prompt
	id := core.PromptID(n.What + "-" + core.NewID[string](s.clock.Now()))
	change := func(decide func(b *state.Batch, l *ledger) error) error {
		return s.retry(ctx, n.What, func() error {
			l, err := s.ledger(ctx, sess)
			if err != nil {
				return err
			}
			b := &state.Batch{}
			b.Durable = true
			if err := decide(b, l); err != nil {
				return err
			}
			b.Update(l.key, l.version, l.book)
			_, err = b.Commit(ctx, s.store)
			return err
		})
	}
	prompt, sess, err := s.Prompt(ctx, n.Prompt)
	if err != nil {
		return err
	}
	if n.Shared {
		sess.Worktree = nil
	}
	if s.frozen(sess.Workspace, prompt.Author) {
		return fmt.Errorf("%w: this is frozen; thaw lets it go on", core.ErrRefused)
	}
	want := toClaims(n.Paths)
	entry := Entry{What: n.What + " begun", Session: sess.Ref, Prompt: prompt.Ref, Who: n.Who, Show: fmt.Sprintf("%s: %d files", n.What, len(n.Paths)), Trace: prompt.Trace}
	err = change(func(b *state.Batch, l *ledger) error {
		want := l.book.Fit(id, want)
		found, err := s.conflicts(ctx, l, id, want)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return &Collision{l.conflict(found)}
		}
		h := holder(s.clock.Now(), sess, prompt)
		h.Until = s.clock.Now().Add(borrowed)
		l.book.Claim(id, h, want)
		entry.Time = s.clock.Now()
		b.Append(state.Audit, entry)
		return nil
	})
	if err != nil {
		return err
	}
	entry.Outcome = do()
	ctx = context.WithoutCancel(ctx) // it is done: the claims end, and what came of it is written down
	return change(func(b *state.Batch, l *ledger) error {
		l.book.Drop(id)
		entry.What, entry.Time = n.What, s.clock.Now()
		b.Append(state.Audit, entry)
		return nil
	})
}
