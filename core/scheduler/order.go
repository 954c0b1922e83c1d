package scheduler

import (
	"context"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// pair is a prompt with its session, as read together.
type pair struct {
	session state.Doc[core.Session]
	prompt  state.Doc[core.Prompt]
}

// load reads a prompt and its session.
func (s *Scheduler) load(ctx context.Context, id core.PromptID) (pair, error) {
	var out pair
	var err error
	if out.prompt, _, err = state.Get[core.Prompt](ctx, s.store, state.PromptKey(id)); err != nil {
		return out, err
	}
	if !out.prompt.Exists() {
		return out, fmt.Errorf("prompt %s: %w", id, core.ErrNotFound)
	}
	snap, err := s.store.Get(ctx, state.SessionKey(out.prompt.Value.Session), state.PromptKey(id))
	if err != nil {
		return out, err
	}
	s.clock.Observe(snap.Time)
	if out.session, err = state.Decode[core.Session](state.SessionKey(out.prompt.Value.Session), snap.Docs[0]); err != nil {
		return out, err
	}
	out.prompt, err = state.Decode[core.Prompt](state.PromptKey(id), snap.Docs[1])
	return out, err
}

// change decides something about a prompt on what was read, and commits it with an audit entry.
func (s *Scheduler) change(ctx context.Context, id core.PromptID, what string, who core.Person, decide func(b *state.Batch, p *pair) error) (core.Prompt, error) {
	var out core.Prompt
	err := s.retry(ctx, what+" prompt", func() error {
		p, err := s.load(ctx, id)
		if err != nil {
			return err
		}
		b, was := &state.Batch{}, p.prompt.Value.State
		b.Durable = true
		if err := decide(b, &p); err != nil {
			return err
		}
		if p.prompt.Value.State != was {
			p.prompt.Value.Since = s.clock.Now()
		}
		b.Update(state.PromptKey(id), p.prompt.Version, p.prompt.Value)
		b.Append(state.Audit, Entry{Time: s.clock.Now(), What: "ordered", Session: p.session.Value.Ref, Prompt: p.prompt.Value.Ref, Who: who,
			Outcome: what, Trace: p.prompt.Value.Trace})
		out = p.prompt.Value
		_, err = b.Commit(ctx, s.store)
		return err
	})
	return out, err
}

// Cancel ends a prompt. One that a replica is running gets an order and ends when everything it started has ended; the order cannot be lost. The
// approvals that it waits for are withdrawn in the same commit, so that a press that comes later changes nothing.
func (s *Scheduler) Cancel(ctx context.Context, id core.PromptID, who core.Person) (core.Prompt, error) {
	return s.change(ctx, id, "cancel", who, func(b *state.Batch, p *pair) error { return s.cancel(ctx, b, p, who) })
}

func (s *Scheduler) cancel(ctx context.Context, b *state.Batch, p *pair, who core.Person) error {
	v := &p.prompt.Value
	if v.State.Ended() {
		return fmt.Errorf("%w: prompt %s is %s already", core.ErrRefused, v.Ref, v.State.Word())
	}
	if v.State == core.Running {
		s.order(b, v, core.OrderCancel, who)
		return nil
	}
	if err := s.withdraw(ctx, b, *v, who, ""); err != nil {
		return err
	}
	return s.end(b, &p.session, v, core.Cancelled, Outcome{Error: by("stopped", who)})
}

// cancelAll cancels those of a session's unfinished prompts that are meant, the last first, changes the session with them, and returns how many they are. The caller
// writes the session.
func (s *Scheduler) cancelAll(ctx context.Context, b *state.Batch, v *core.Session, who core.Person, meant func(core.Prompt) bool) (n int, err error) {
	keys := make([]store.Key, len(v.Queue))
	for i, id := range v.Queue {
		keys[i] = state.PromptKey(id)
	}
	docs, _, err := state.GetAll[core.Prompt](ctx, s.store, keys)
	if err != nil {
		return 0, err
	}
	for i, p := range slices.Backward(docs) {
		if !meant(p.Value) {
			continue
		}
		n++
		if p.Value.State == core.Running {
			s.order(b, &p.Value, core.OrderCancel, who)
		} else {
			if err := s.withdraw(ctx, b, p.Value, who, ""); err != nil {
				return n, err
			}
			if err := s.leave(b, v, &p.Value, core.Cancelled, Outcome{Error: by("stopped", who)}); err != nil {
				return n, err
			}
		}
		b.Update(keys[i], p.Version, p.Value)
	}
	return n, nil
}

func everyPrompt(core.Prompt) bool { return true }

// order stores what the replica that runs the prompt has to do, and rings for it.
func (s *Scheduler) order(b *state.Batch, p *core.Prompt, o core.Order, who core.Person) {
	p.Order, p.OrderBy = o, who
	b.Ring(state.BellOrder, string(p.ID))
}

// withdraw ends the approvals that a prompt waits for.
func (s *Scheduler) withdraw(ctx context.Context, b *state.Batch, p core.Prompt, who core.Person, why string) error {
	keys := make([]store.Key, len(p.Pending))
	for i, id := range p.Pending {
		keys[i] = state.ApprovalKey(id)
	}
	docs, _, err := state.GetAll[core.Approval](ctx, s.store, keys)
	if err != nil {
		return err
	}
	for i, d := range docs {
		if d.Value.State == core.Pending {
			if err := s.decide(b, keys[i], d, core.Withdrawn, who, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// Pause holds a prompt until Resume. Of a running one a model call is dropped, to be asked again later, a tool that runs comes to its end, and no other is started.
// What it waits for is withdrawn, to be asked again.
func (s *Scheduler) Pause(ctx context.Context, id core.PromptID, who core.Person) (core.Prompt, error) {
	return s.change(ctx, id, "pause", who, func(b *state.Batch, p *pair) error {
		v := &p.prompt.Value
		if v.State == core.Running {
			if v.Order == core.OrderCancel {
				return fmt.Errorf("%w: prompt %s is being stopped", core.ErrRefused, v.Ref)
			}
			s.order(b, v, core.OrderPause, who)
			return nil
		}
		if err := v.To(core.Paused, by("paused", who)); err != nil {
			return err
		}
		return s.unask(ctx, b, v, who)
	})
}

// unask takes back what a prompt waits for.
func (s *Scheduler) unask(ctx context.Context, b *state.Batch, p *core.Prompt, who core.Person) error {
	err := s.withdraw(ctx, b, *p, who, "")
	p.Pending, p.Question, p.Choices = nil, "", nil
	return err
}

// Resume lets a paused prompt go on, or one that waits with a question; "continue" at a limit allows it the same again.
func (s *Scheduler) Resume(ctx context.Context, id core.PromptID, who core.Person) (core.Prompt, error) {
	return s.change(ctx, id, "resume", who, func(b *state.Batch, p *pair) error {
		v := &p.prompt.Value
		switch {
		case v.State == core.Running && v.Order == core.OrderPause:
			v.Order = core.OrderNone
			return nil
		case v.State == core.Waiting && v.Question != "":
			if slices.Contains(v.Choices, core.ChoiceContinue) {
				v.Extra++
			}
			if err := s.unask(ctx, b, v, who); err != nil {
				return err
			}
		case v.State != core.Paused:
			return fmt.Errorf("%w: prompt %s is %s; only a paused one, or one that asks whether to continue, can be resumed", core.ErrRefused, v.Ref, v.State.Word())
		}
		if err := v.To(core.Queued, ""); err != nil {
			return err
		}
		s.ready(b, v.Session)
		return nil
	})
}

// Steer gives an unfinished prompt a message that the model reads before its next turn. One that comes too late for that becomes a prompt of its own,
// which runs next.
func (s *Scheduler) Steer(ctx context.Context, id core.PromptID, who core.Person, text string) (core.Prompt, error) {
	return s.SteerOnce(ctx, id, who, text, "")
}

// SteerOnce is Steer for an inbound event, which is remembered in the same commit; if it was already, nothing is given. An empty event is never the same.
func (s *Scheduler) SteerOnce(ctx context.Context, id core.PromptID, who core.Person, text, event string) (core.Prompt, error) {
	return s.change(ctx, id, "steer", who, func(b *state.Batch, p *pair) error {
		if event != "" {
			seen, _, err := state.Get[Seen](ctx, s.store, state.EventKey(event))
			if err != nil || seen.Exists() {
				return err
			}
			b.Expect(state.EventKey(event), 0)
			b.Put(state.EventKey(event), Seen{Session: p.session.Value.ID}, EventKept)
		}
		v := &p.prompt.Value
		if v.State.Ended() {
			return fmt.Errorf("%w: prompt %s is %s; write a new one", core.ErrRefused, v.Ref, v.State.Word())
		}
		unread := len(text)
		for _, t := range v.Steer {
			unread += len(t)
		}
		if len(v.Steer) >= s.cfg.MaxQueue || unread > maxText {
			return fmt.Errorf("%w: prompt %s has %d messages that it has not read yet, and no room for this one", core.ErrRefused, v.Ref, len(v.Steer))
		}
		v.Steer = append(v.Steer, text)
		b.Ring(state.BellOrder, string(v.ID))
		return nil
	})
}

// Stop cancels a session's first unfinished prompt, and holds those behind it until a person says what is to become of them. It
// returns the prompt and how many are held.
func (s *Scheduler) Stop(ctx context.Context, id core.SessionID, who core.Person) (core.Prompt, int, error) {
	sess, _, err := state.Get[core.Session](ctx, s.store, state.SessionKey(id))
	if err != nil {
		return core.Prompt{}, 0, err
	}
	if !sess.Exists() {
		return core.Prompt{}, 0, fmt.Errorf("session: %w", core.ErrNotFound)
	}
	if len(sess.Value.Queue) == 0 {
		return core.Prompt{}, 0, fmt.Errorf("%w: nothing is going on in session %s", core.ErrRefused, sess.Value.Ref)
	}
	held := 0
	p, err := s.change(ctx, sess.Value.Queue[0], "stop", who, func(b *state.Batch, p *pair) error {
		v := &p.session.Value
		held = len(v.Queue) - 1
		v.Held = held > 0
		running := p.prompt.Value.State == core.Running
		if err := s.cancel(ctx, b, p, who); err != nil {
			return err
		}
		if running { // otherwise end has written the session
			b.Update(state.SessionKey(v.ID), p.session.Version, *v)
		}
		return nil
	})
	return p, held, err
}

// Release lets the prompts run that a stop held; with drop it cancels them instead. It returns how many there were.
func (s *Scheduler) Release(ctx context.Context, id core.SessionID, who core.Person, drop bool) (int, error) {
	held := 0
	err := s.session(ctx, id, "release", who, func(b *state.Batch, v *core.Session) error {
		if !v.Held {
			return fmt.Errorf("%w: session %s holds nothing back", core.ErrRefused, v.Ref)
		}
		held = len(v.Queue)
		v.Held = false
		s.ready(b, id)
		if drop {
			_, err := s.cancelAll(ctx, b, v, who, everyPrompt)
			return err
		}
		return nil
	})
	return held, err
}

// Close closes a session: its unfinished prompts are cancelled, and it takes no more.
func (s *Scheduler) Close(ctx context.Context, id core.SessionID, who core.Person) (core.Session, error) {
	var out core.Session
	err := s.session(ctx, id, "close", who, func(b *state.Batch, v *core.Session) error {
		if v.Closed {
			return fmt.Errorf("%w: session %s is closed already", core.ErrRefused, v.Ref)
		}
		idle := len(v.Queue) == 0 && v.Last != "" // else the prompt that ends last tells of the work
		err := s.shut(ctx, b, v, who)
		out = *v
		if err != nil || !idle || v.Worktree == nil || !v.Worktree.Made || v.Worktree.Kept {
			return err
		}
		return s.tellWork(ctx, b, *v, core.Event{State: string(core.WorkOpen)})
	})
	return out, err
}

// shut closes a session in a batch; the caller writes it.
func (s *Scheduler) shut(ctx context.Context, b *state.Batch, v *core.Session, who core.Person) error {
	v.Closed = true
	b.InsertNow(state.GC, string(v.ID), KeepClosed)
	_, err := s.cancelAll(ctx, b, v, who, everyPrompt)
	return err
}

// Rename gives a session another title.
func (s *Scheduler) Rename(ctx context.Context, id core.SessionID, who core.Person, title string) (core.Session, error) {
	var out core.Session
	err := s.session(ctx, id, "rename", who, func(_ *state.Batch, v *core.Session) error {
		v.Title = Title(title, "")
		if v.Title == "" {
			return fmt.Errorf("%w: a title needs at least one character", core.ErrRefused)
		}
		out = *v
		return nil
	})
	return out, err
}

// SetMode gives a session another mode, from its next call on.
func (s *Scheduler) SetMode(ctx context.Context, id core.SessionID, who core.Person, mode core.Mode) error {
	return s.session(ctx, id, "mode "+string(mode), who, func(_ *state.Batch, v *core.Session) error {
		v.Mode = mode
		return nil
	})
}

// session changes a session document on what was read.
func (s *Scheduler) session(ctx context.Context, id core.SessionID, what string, who core.Person, decide func(*state.Batch, *core.Session) error) error {
	return s.retry(ctx, what+" session", func() error {
		sess, now, err := state.Get[core.Session](ctx, s.store, state.SessionKey(id))
		if err != nil {
			return err
		}
		if !sess.Exists() {
			return fmt.Errorf("session: %w", core.ErrNotFound)
		}
		s.clock.Observe(now)
		b := &state.Batch{}
		b.Durable = true
		if err := decide(b, &sess.Value); err != nil {
			return err
		}
		sess.Value.Touched = now
		b.Update(state.SessionKey(id), sess.Version, sess.Value)
		s.touch(b, sess.Value)
		b.Append(state.Audit, Entry{Time: now, What: "ordered", Session: sess.Value.Ref, Who: who, Outcome: what})
		_, err = b.Commit(ctx, s.store)
		return err
	})
}
