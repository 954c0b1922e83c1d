package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Rules are rules that people stored with an approval, for a session or a workspace.
type Rules struct {
	Allow []StoredRule `json:"allow"`
}

// StoredRule is one of them, with where it came from.
type StoredRule struct {
	Rule    string      `json:"rule"`
	By      core.Person `json:"by"`
	At      time.Time   `json:"at"`
	Request core.Ref    `json:"request"` // the approval that led to it
	Show    string      `json:"show"`
	Used    time.Time   `json:"used,omitzero"` // last, within usedEvery
}

// maxRules bounds the rules of one session or workspace.
const maxRules = 500

// rulesKey is where the rules of a scope lie.
func (s *Scheduler) rulesKey(ctx context.Context, a core.Approval, scope core.Scope) (store.Key, error) {
	if scope == core.ForSession {
		return state.SessionRules(a.Session), nil
	}
	sess, _, err := state.Get[core.Session](ctx, s.store, state.SessionKey(a.Session))
	return state.WorkspaceRules(sess.Value.Workspace), err
}

// storeRules adds the rules that the approval offers to its session or workspace.
func (s *Scheduler) storeRules(ctx context.Context, b *state.Batch, a core.Approval, d Decision) error {
	offers := a.Offers
	if d.Wide {
		offers = a.Wider
	}
	if len(offers) == 0 {
		return fmt.Errorf("%w: this action can be approved once only", core.ErrRefused)
	}
	key, err := s.rulesKey(ctx, a, d.Scope)
	if err != nil {
		return err
	}
	rules, now, err := state.Get[Rules](ctx, s.store, key)
	if err != nil {
		return err
	}
	for _, rule := range offers {
		if !rules.Value.Has(rule) {
			rules.Value.Allow = append(rules.Value.Allow, StoredRule{Rule: rule, By: d.By, At: now, Request: a.Ref, Show: a.Action.Show})
		}
	}
	if len(rules.Value.Allow) > maxRules {
		return fmt.Errorf("%w: there are %d stored rules already; revoke some under permissions", core.ErrRefused, maxRules)
	}
	b.Update(key, rules.Version, rules.Value)
	return nil
}

// Has reports whether a rule is among them.
func (r Rules) Has(rule string) bool {
	for _, old := range r.Allow {
		if old.Rule == rule {
			return true
		}
	}
	return false
}

// RevokeRule takes a stored rule away from a session or workspace, with the commit it is gone everywhere.
func (s *Scheduler) RevokeRule(ctx context.Context, key store.Key, rule string, who core.Person) error {
	return s.retry(ctx, "revoke rule", func() error {
		d, now, err := state.Get[Rules](ctx, s.store, key)
		if err != nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(d.Value.Allow), func(r StoredRule) bool { return r.Rule == rule })
		if len(kept) == len(d.Value.Allow) {
			return fmt.Errorf("rule %s: %w; permissions shows those that are stored", rule, core.ErrNotFound)
		}
		b := &state.Batch{}
		b.Durable = true
		b.Update(key, d.Version, Rules{Allow: kept})
		b.Append(state.Audit, Entry{Time: now, What: "rule revoked", Who: who, Rule: rule})
		_, err = b.Commit(ctx, s.store)
		return err
	})
}

// usedEvery is how exact the last use of a rule is.
const usedEvery = time.Hour

// Used notes that stored rules of the session or of its workspace let a call through. It is worth no second try: when others change the rules meanwhile, the next use is noted.
func (r *Run) Used(ctx context.Context, by Standing, session, workspace []string) error {
	return errors.Join(r.used(ctx, state.SessionRules(r.Session.ID), by.Session, session), r.used(ctx, state.WorkspaceRules(r.Session.Workspace), by.Workspace, workspace))
}

func (r *Run) used(ctx context.Context, key store.Key, known Rules, names []string) error {
	if !known.touch(names, r.Now()) { // none of these, or noted already
		return nil
	}
	d, now, err := state.Get[Rules](ctx, r.s.store, key)
	if err != nil || !d.Value.touch(names, now) {
		return err
	}
	b := &state.Batch{}
	b.Update(key, d.Version, d.Value)
	_, err = b.Commit(ctx, r.s.store)
	return err
}

// touch marks rules as used, and reports whether that is news.
func (r Rules) touch(names []string, now time.Time) (news bool) {
	for i := range r.Allow {
		if old := &r.Allow[i]; slices.Contains(names, old.Rule) && now.Sub(old.Used) >= usedEvery {
			old.Used, news = now, true
		}
	}
	return news
}
