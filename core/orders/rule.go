package orders

import (
	"context"
	"fmt"
	"slices"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/moves"
	"paragents/core/state"
	"paragents/store"
)

// maxRules bounds the rules of one session or workspace.
const maxRules = 500

// rulesKey is where the rules of a scope lie.
func (o *Orders) rulesKey(ctx context.Context, a core.Approval, scope core.Scope) (store.Key, error) {
	if scope == core.ForSession {
		return state.SessionRules(a.Session), nil
	}
	sess, _, err := state.Get[core.Session](ctx, o.store, state.SessionKey(a.Session))
	return state.WorkspaceRules(sess.Value.Workspace), err
}

// storeRules adds the rules that the approval offers to its session or workspace.
func (o *Orders) storeRules(ctx context.Context, b *moves.Batch, a core.Approval, d Decision) error {
	offers := a.Offers
	if d.Wide {
		offers = a.Wider
	}
	if len(offers) == 0 {
		return fmt.Errorf("%w: this action can be approved once only", core.ErrRefused)
	}
	key, err := o.rulesKey(ctx, a, d.Scope)
	if err != nil {
		return err
	}
	rules, now, err := state.Get[state.Rules](ctx, o.store, key)
	if err != nil {
		return err
	}
	for _, rule := range offers {
		if !rules.Value.Has(rule) {
			rules.Value.Allow = append(rules.Value.Allow, state.StoredRule{Rule: rule, By: d.By, At: now, Request: a.Ref, Show: a.Action.Show})
		}
	}
	if len(rules.Value.Allow) > maxRules {
		return fmt.Errorf("%w: there are %d stored rules already; revoke some under permissions", core.ErrRefused, maxRules)
	}
	b.Update(key, rules.Version, rules.Value)
	return nil
}

// RevokeRule takes a stored rule away from a session or workspace, with the commit it is gone everywhere.
func (o *Orders) RevokeRule(ctx context.Context, key store.Key, rule string, who core.Person) error {
	return state.Retry(ctx, "revoke rule", func() error {
		d, now, err := state.Get[state.Rules](ctx, o.store, key)
		if err != nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(d.Value.Allow), func(r state.StoredRule) bool { return r.Rule == rule })
		if len(kept) == len(d.Value.Allow) {
			return fmt.Errorf("rule %s: %w; permissions shows those that are stored", rule, core.ErrNotFound)
		}
		b := moves.Durable(o.clock)
		b.Update(key, d.Version, state.Rules{Allow: kept})
		b.Append(state.Audit, audit.Entry{Time: now, What: "rule revoked", Who: who, Rule: rule})
		_, err = b.Commit(ctx, o.store)
		return err
	})
}
