package app

import (
	"context"
	"fmt"

	"paragents/bot"
	"paragents/core"
	"paragents/core/access"
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
	l := &Live{Store: st, Me: Me(), access: access.Access{Configured: grants(cfg), ApproveOwn: cfg.Approvals.ApproveOwn}}
	for _, p := range Admins(path, l.Me) {
		l.access.Configured.Everywhere[p] = access.Admin
	}
	l.Scheduler = scheduler.New(scheduler.Config{Store: st, Expire: cfg.Approvals.Expire, MaxQueue: cfg.Limits.MaxQueue})
	return do(l)
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
	if n.Kind != scheduler.NamedApproval {
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
	a, err = l.Scheduler.Decide(ctx, a.ID, scheduler.Decision{State: to, Scope: scope, By: l.Me, Reason: reason})
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
	entries, err := bot.Audit(ctx, l.Store, 10_000)
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
		for _, e := range entries {
			if e.Session == v.Session.Ref {
				if err := give(e); err != nil {
					return err
				}
			}
		}
	}
	if n.Kind == scheduler.NamedApproval {
		a, _, err := state.Get[core.Approval](ctx, l.Store, state.ApprovalKey(core.ApprovalID(n.ID)))
		if err != nil {
			return err
		}
		return give(a.Value)
	}
	return nil
}
