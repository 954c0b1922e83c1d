package app

import (
	"context"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
	"paragents/core/fleet"
	"paragents/core/orders"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/store"
)

// Live is a look at a store beside the processes that work on it: it runs nothing itself.
type Live struct {
	Store     store.Store
	Scheduler *scheduler.Scheduler
	Me        core.Person
	access    access.Access

	workspaces []string
}

// Live opens the store for one command.
func (s *Setup) Live(ctx context.Context, do func(*Live) error) error {
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	st, path, err := s.Store(ctx, cfg, s.Logger())
	if err != nil {
		return err
	}
	defer st.Close()
	l := &Live{Store: st, Me: Me()}
	l.access = rights(cfg, Admins(path, l.Me))
	all, err := fleet.Read(ctx, st)
	if err != nil {
		return err
	}
	l.access.Others = func(platform string) []access.Access { return granted(fleet.Speaking(all, platform)) }
	for _, w := range cfg.Workspaces {
		l.workspaces = append(l.workspaces, w.Name)
	}
	l.Scheduler = scheduler.New(scheduler.Config{Store: st, Expire: cfg.Approvals.Expire, MaxQueue: cfg.Limits.MaxQueue})
	return do(l)
}

// Served reports whether a live process receives from a platform.
func Served(ctx context.Context, st store.Store, platform string) (bool, error) {
	all, err := fleet.Read(ctx, st)
	return len(fleet.Speaking(all, platform)) > 0, err
}

// Need refuses a person whose role is too small.
func (l *Live) Need(ctx context.Context, role access.Role) error {
	stored, err := access.Stored(ctx, l.Store)
	if err != nil {
		return err
	}
	if have := l.access.Role(stored, l.Me, core.Place{}); have < role {
		return fmt.Errorf("%w: %s is %s, and this needs %s; an admin names you under access.admins in the configuration", core.ErrForbidden, l.Me, have, role)
	}
	return nil
}

// Decide answers an approval from the shell, and says what became of it.
func (l *Live) Decide(ctx context.Context, ref core.Ref, to core.ApprovalState, scope core.Scope, reason string) error {
	n, err := l.Scheduler.Find(ctx, ref)
	if err != nil {
		return err
	}
	if n.Kind != state.NamedApproval {
		return fmt.Errorf("%w: %s is a %s; paragents approvals shows what waits", core.ErrRefused, ref, n.Kind)
	}
	a, err := l.Scheduler.Approval(ctx, core.ApprovalID(n.ID))
	if err != nil {
		return err
	}
	stored, err := access.Stored(ctx, l.Store)
	if err != nil {
		return err
	}
	if err := l.access.MayDecide(stored, l.Me, a, scope); err != nil {
		return err
	}
	a, err = l.Scheduler.Decide(ctx, a.ID, orders.Decision{State: to, Scope: scope, By: l.Me, Reason: reason})
	if err == nil {
		fmt.Printf("%s %s: %s\n", a.Ref, a.State, a.Action.Show)
	}
	return err
}

// Trace gives everything that belongs to a ref, one thing after the other.
func (l *Live) Trace(ctx context.Context, ref core.Ref, give func(any) error) error {
	n, err := l.Scheduler.Find(ctx, ref)
	if err != nil {
		return err
	}
	views, err := l.Scheduler.Views(ctx, []core.SessionID{n.Session})
	if err != nil {
		return err
	}
	records, err := l.Scheduler.Transcript(ctx, n.Session)
	if err != nil {
		return err
	}
	for _, v := range views {
		if err := give(v); err != nil {
			return err
		}
		for _, r := range records {
			if err := give(r); err != nil {
				return err
			}
		}
		err := audit.Read(ctx, l.Store, audit.Filter{Session: v.Session.Ref}, func(e audit.Entry) error { return give(e) })
		if err != nil {
			return err
		}
	}
	if n.Kind == state.NamedApproval {
		a, _, err := state.Get[core.Approval](ctx, l.Store, state.ApprovalKey(core.ApprovalID(n.ID)))
		if err != nil {
			return err
		}
		return give(a.Value)
	}
	return nil
}

// Now is the store's time.
func (l *Live) Now(ctx context.Context) (time.Time, error) {
	snap, err := l.Store.Get(ctx, state.AccessKey)
	return snap.Time, err
}

// Rules gives every rule that people stored for a configured workspace or an open session.
func (l *Live) Rules(ctx context.Context, give func(where string, key store.Key, r state.StoredRule) error) error {
	where := map[store.Key]string{}
	var keys []store.Key
	for _, w := range l.workspaces {
		key := state.WorkspaceRules(w)
		keys, where[key] = append(keys, key), "workspace "+w
	}
	views, err := l.Scheduler.List(ctx, state.Sessions, 1000, false)
	if err != nil {
		return err
	}
	for _, v := range views {
		key := state.SessionRules(v.Session.ID)
		keys, where[key] = append(keys, key), "session "+string(v.Session.Ref)
	}
	docs, _, err := state.GetAll[state.Rules](ctx, l.Store, keys)
	if err != nil {
		return err
	}
	for i, d := range docs {
		for _, r := range d.Value.Allow {
			if err := give(where[keys[i]], keys[i], r); err != nil {
				return err
			}
		}
	}
	return nil
}
