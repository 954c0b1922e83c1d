package scheduler

import (
	"context"
	"errors"
	"slices"

	"paragents/core"
	"paragents/core/freeze"
	"paragents/core/state"
	"paragents/store"
)

// errFrozen ends the runs of what was frozen. Their prompts are queued again, and not claimed before the thaw.
var errFrozen = errors.New("frozen")

// brake reads what is frozen, and ends the runs that are.
func (s *Scheduler) brake(ctx context.Context) {
	if err := s.ice.Refresh(ctx, s.store); err != nil {
		return // the dispatcher has logged that the store is away, and nothing is claimed meanwhile
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		if r := h.get(); r != nil && r.Prompt.ID != "" && s.frozen(r.Session.Workspace, r.Prompt.Author) {
			h.stop(errFrozen)
		}
	}
}

// frozen takes no whole documents: the brake looks at runs while they go on, and what a run changes in its own is not its business.
func (s *Scheduler) frozen(workspace string, author core.Person) bool {
	_, _, ok := s.ice.Over(workspace, author)
	return ok
}

// Freeze pulls the brake for a scope: within a second nothing of it starts a tool on any replica, and what runs is ended.
func (s *Scheduler) Freeze(ctx context.Context, scope freeze.Scope, who core.Person, reason string) error {
	return freeze.Set(ctx, s.store, scope, who, &reason)
}

// Thaw lets what was frozen go on.
func (s *Scheduler) Thaw(ctx context.Context, scope freeze.Scope, who core.Person) error {
	return freeze.Set(ctx, s.store, scope, who, nil)
}

// Frozen reads what is frozen.
func (s *Scheduler) Frozen(ctx context.Context) (freeze.Frozen, error) {
	return freeze.Read(ctx, s.store)
}

// maxRevoked bounds the sessions of a person that Revoke goes through.
const maxRevoked = 500

// Revoke takes everything away from a person in one commit: also adds what takes their roles; their approvals that wait are withdrawn, their prompts end, and the
// rules that they stored for their sessions and for the given workspaces are gone. It returns how many prompts that were.
func (s *Scheduler) Revoke(ctx context.Context, whom, who core.Person, workspaces []string, also func(*state.Batch) error) (int, error) {
	ended := 0
	err := s.retry(ctx, "revoke access", func() error {
		ended = 0
		b := &state.Batch{}
		b.Durable = true
		if err := also(b); err != nil {
			return err
		}
		page, err := s.store.Scan(ctx, state.ByPerson(whom), store.Range{Limit: maxRevoked, Reverse: true})
		if err != nil {
			return err
		}
		keys := make([]store.Key, 0, len(page.Entries)+len(workspaces))
		for _, e := range page.Entries {
			n, err := s.revokeSession(ctx, b, core.SessionID(e.Member), whom, who)
			if err != nil {
				return err
			}
			ended += n
			keys = append(keys, state.SessionRules(core.SessionID(e.Member)))
		}
		for _, w := range workspaces {
			keys = append(keys, state.WorkspaceRules(w))
		}
		docs, now, err := state.GetAll[Rules](ctx, s.store, keys)
		if err != nil {
			return err
		}
		for i, d := range docs {
			kept := slices.DeleteFunc(slices.Clone(d.Value.Allow), func(r StoredRule) bool { return r.By == whom })
			if len(kept) != len(d.Value.Allow) {
				b.Update(keys[i], d.Version, Rules{Allow: kept})
			}
		}
		b.Append(state.Audit, Entry{Time: now, What: "access revoked", Who: who, Outcome: string(whom)})
		_, err = b.Commit(ctx, s.store)
		return err
	})
	return ended, err
}

// revokeSession ends a person's prompts in one session.
func (s *Scheduler) revokeSession(ctx context.Context, b *state.Batch, id core.SessionID, whom, who core.Person) (int, error) {
	sess, _, err := state.Get[core.Session](ctx, s.store, state.SessionKey(id))
	if err != nil {
		return 0, err
	}
	n, err := s.cancelAll(ctx, b, &sess.Value, who, func(p core.Prompt) bool { return p.Author == whom })
	if err == nil && n > 0 {
		b.Update(state.SessionKey(id), sess.Version, sess.Value)
		s.touch(b, sess.Value)
	}
	return n, err
}
