package scheduler

import (
	"context"
	"fmt"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// View is a session as lists show it: with its first unfinished prompt, or the last one.
type View struct {
	Session core.Session
	Prompt  core.Prompt // zero when there has been none
	Replica core.ReplicaID
	Frozen  bool // the brake holds the prompt
}

// Word is the session's state for people.
func (v View) Word() string {
	switch {
	case v.Session.Closed:
		return "closed"
	case len(v.Session.Queue) == 0:
		return "idle"
	case v.Frozen && !v.Prompt.State.Ended():
		return "frozen"
	case v.Session.Held && v.Prompt.State == core.Queued:
		return "held"
	}
	return v.Prompt.State.Word()
}

// Find follows a ref. It returns ErrNotFound when nothing has the ref.
func (s *Scheduler) Find(ctx context.Context, ref core.Ref) (Named, error) {
	n, _, err := state.Get[Named](ctx, s.store, state.RefKey(ref))
	if err != nil {
		return Named{}, err
	}
	if !n.Exists() {
		return Named{}, fmt.Errorf("%s: %w; list shows the sessions, approvals the questions", ref, core.ErrNotFound)
	}
	return n.Value, nil
}

// List returns the sessions of an index, the last changed first, closed ones only if asked for, at most limit.
func (s *Scheduler) List(ctx context.Context, index store.Index, limit int, closed bool) ([]View, error) {
	var out []View
	var after *store.Entry
	for len(out) < limit {
		page, err := s.store.Scan(ctx, index, store.Range{After: after, Limit: limit, Reverse: true})
		if err != nil {
			return nil, err
		}
		ids := make([]core.SessionID, len(page.Entries))
		for i, e := range page.Entries {
			ids[i] = core.SessionID(e.Member)
		}
		views, err := s.Views(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, v := range views {
			if len(out) < limit && (closed || !v.Session.Closed) {
				out = append(out, v)
			}
		}
		if len(page.Entries) < limit {
			break
		}
		after = &page.Entries[len(page.Entries)-1]
	}
	return out, nil
}

// Views reads sessions with their prompts; those that do not exist are left out.
func (s *Scheduler) Views(ctx context.Context, ids []core.SessionID) ([]View, error) {
	keys := make([]store.Key, 0, 2*len(ids))
	for _, id := range ids {
		keys = append(keys, state.SessionKey(id), state.ClaimKey(id))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	snap, err := s.store.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	s.clock.Observe(snap.Time)
	var out []View
	var prompts []store.Key
	for i := 0; i < len(keys); i += 2 {
		sess, err := state.Decode[core.Session](keys[i], snap.Docs[i])
		if err != nil || !sess.Exists() {
			continue
		}
		claim, err := state.Decode[Claim](keys[i+1], snap.Docs[i+1])
		if err != nil {
			continue
		}
		v := View{Session: sess.Value, Replica: claim.Value.Replica}
		id := v.Session.Last
		if len(v.Session.Queue) > 0 {
			id = v.Session.Queue[0]
		}
		out = append(out, v)
		prompts = append(prompts, state.PromptKey(id))
	}
	if len(prompts) == 0 {
		return out, nil
	}
	if snap, err = s.store.Get(ctx, prompts...); err != nil {
		return nil, err
	}
	for i, key := range prompts {
		if p, err := state.Decode[core.Prompt](key, snap.Docs[i]); err == nil { // of a newer version, it is shown by those who know it
			out[i].Prompt = p.Value
		}
	}
	return out, nil
}

// Waiting returns the approvals that wait, the oldest first, at most limit.
func (s *Scheduler) Waiting(ctx context.Context, limit int) ([]core.Approval, error) {
	page, err := s.store.Scan(ctx, state.Pending, store.Range{Limit: limit})
	if err != nil {
		return nil, err
	}
	keys := make([]store.Key, len(page.Entries))
	for i, e := range page.Entries {
		keys[i] = state.ApprovalKey(core.ApprovalID(e.Member))
	}
	docs, _, err := state.GetAll[core.Approval](ctx, s.store, keys)
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
func (s *Scheduler) Approval(ctx context.Context, id core.ApprovalID) (core.Approval, error) {
	a, _, err := state.Get[core.Approval](ctx, s.store, state.ApprovalKey(id))
	if err == nil && !a.Exists() {
		err = fmt.Errorf("approval: %w", core.ErrNotFound)
	}
	return a.Value, err
}

// Prompt reads one prompt and its session.
func (s *Scheduler) Prompt(ctx context.Context, id core.PromptID) (core.Prompt, core.Session, error) {
	p, err := s.load(ctx, id)
	return p.prompt.Value, p.session.Value, err
}

// StoredRules reads what people stored for a session or a workspace.
func (s *Scheduler) StoredRules(ctx context.Context, key store.Key) (Rules, error) {
	r, _, err := state.Get[Rules](ctx, s.store, key)
	return r.Value, err
}

// Busy reports whether a session of a person's has something to run, to be sent, or in a replica's hands. Prompts that wait for people do not count.
func (s *Scheduler) Busy(ctx context.Context, who core.Person) (bool, error) {
	mine := map[string]bool{}
	page, err := s.store.Scan(ctx, state.ByPerson(who), store.Range{Reverse: true})
	if err != nil {
		return false, err
	}
	for _, e := range page.Entries {
		mine[e.Member] = true
	}
	for _, index := range []store.Index{state.Ready, state.Running} {
		page, err := s.store.Scan(ctx, index, store.Range{})
		if err != nil {
			return false, err
		}
		for _, e := range page.Entries {
			if mine[e.Member] {
				return true, nil
			}
		}
	}
	return false, nil
}
