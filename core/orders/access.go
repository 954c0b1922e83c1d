package orders

import (
	"context"
	"slices"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/freeze"
	"paragents/core/moves"
	"paragents/core/state"
	"paragents/store"
)

// Freeze pulls the brake for a scope: within a second nothing of it starts a tool on any replica, and what runs is ended.
func (o *Orders) Freeze(ctx context.Context, scope freeze.Scope, who core.Person, reason string) error {
	return freeze.Set(ctx, o.store, scope, who, &reason)
}

// Thaw lets what was frozen go on.
func (o *Orders) Thaw(ctx context.Context, scope freeze.Scope, who core.Person) error {
	return freeze.Set(ctx, o.store, scope, who, nil)
}

// Frozen reads what is frozen.
func (o *Orders) Frozen(ctx context.Context) (freeze.Frozen, error) {
	return freeze.Read(ctx, o.store)
}

// maxRevoked bounds the sessions of a person that Revoke goes through.
const maxRevoked = 500

// Revoke takes everything away from a person in one commit: also adds what takes their roles; their approvals that wait are withdrawn, their prompts end, and the
// rules that they stored for their sessions and for the given workspaces are gone. It returns how many prompts that were.
func (o *Orders) Revoke(ctx context.Context, whom, who core.Person, workspaces []string, also func(*state.Batch) error) (int, error) {
	ended := 0
	err := state.Retry(ctx, "revoke access", func() error {
		ended = 0
		b := moves.Durable(o.clock)
		if err := also(&b.Batch); err != nil {
			return err
		}
		page, err := o.store.Scan(ctx, state.ByPerson(whom), store.Range{Limit: maxRevoked, Reverse: true})
		if err != nil {
			return err
		}
		keys := make([]store.Key, 0, len(page.Entries)+len(workspaces))
		for _, e := range page.Entries {
			n, err := o.revokeSession(ctx, b, core.SessionID(e.Member), whom, who)
			if err != nil {
				return err
			}
			ended += n
			keys = append(keys, state.SessionRules(core.SessionID(e.Member)))
		}
		for _, w := range workspaces {
			keys = append(keys, state.WorkspaceRules(w))
		}
		docs, now, err := state.GetAll[state.Rules](ctx, o.store, keys)
		if err != nil {
			return err
		}
		for i, d := range docs {
			kept := slices.DeleteFunc(slices.Clone(d.Value.Allow), func(r state.StoredRule) bool { return r.By == whom })
			if len(kept) != len(d.Value.Allow) {
				b.Update(keys[i], d.Version, state.Rules{Allow: kept})
			}
		}
		b.Append(state.Audit, audit.Entry{Time: now, What: "access revoked", Who: who, Outcome: string(whom)})
		_, err = b.Commit(ctx, o.store)
		return err
	})
	return ended, err
}

// revokeSession ends a person's prompts in one session.
func (o *Orders) revokeSession(ctx context.Context, b *moves.Batch, id core.SessionID, whom, who core.Person) (int, error) {
	sess, _, err := state.Get[core.Session](ctx, o.store, state.SessionKey(id))
	if err != nil {
		return 0, err
	}
	n, err := o.cancelAll(ctx, b, &sess.Value, who, func(p core.Prompt) bool { return p.Author == whom })
	if err == nil && n > 0 {
		b.Update(state.SessionKey(id), sess.Version, sess.Value)
		b.Touch(sess.Value)
	}
	return n, err
}
