package scheduler

import (
	"context"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/moves"
	"paragents/core/reserve"
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
// and the error is a *core.Collision.
func (s *Scheduler) Borrow(ctx context.Context, n Loan, do func() (outcome string)) error {
	var sess core.Session
	var prompt core.Prompt
	id := core.PromptID(n.What + "-" + core.NewID[string](s.clock.Now()))
	change := func(decide func(b *moves.Batch, l *reserve.Ledger) error) error {
		return state.Retry(ctx, n.What, func() error {
			l, err := s.books.Open(ctx, sess)
			if err != nil {
				return err
			}
			b := moves.Durable(&s.clock)
			if err := decide(b, l); err != nil {
				return err
			}
			l.Save(b)
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
	want := reserve.Claims(n.Paths)
	entry := audit.Entry{What: n.What + " begun", Session: sess.Ref, Prompt: prompt.Ref, Who: n.Who, Show: fmt.Sprintf("%s: %d files", n.What, len(n.Paths)), Trace: prompt.Trace}
	err = change(func(b *moves.Batch, l *reserve.Ledger) error {
		want := l.Book.Fit(id, want)
		found, err := l.Conflicts(ctx, id, want)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return &core.Collision{Conflict: l.Conflict(found)}
		}
		h := reserve.Holder(s.clock.Now(), sess, prompt)
		h.Until = s.clock.Now().Add(borrowed)
		l.Book.Claim(id, h, want)
		entry.Time = s.clock.Now()
		b.Append(state.Audit, entry)
		return nil
	})
	if err != nil {
		return err
	}
	entry.Outcome = do()
	ctx = context.WithoutCancel(ctx) // it is done: the claims end, and what came of it is written down
	return change(func(b *moves.Batch, l *reserve.Ledger) error {
		l.Book.Drop(id)
		entry.What, entry.Time = n.What, s.clock.Now()
		b.Append(state.Audit, entry)
		return nil
	})
}
