package scheduler

import (
	"context"
	"errors"

	"paragents/core"
	"paragents/core/fleet"
	"paragents/core/state"
	"paragents/store"
)

// Standing is what people have laid down for a run: it can change at any time.
type Standing struct {
	Session, Workspace state.Rules
	Mode               core.Mode
	Others             []fleet.Terms // of the replicas that speak at the same place: what they deny is denied, and they must allow too
}

// Standing reads it, waiting for a store that is away.
func (r *Run) Standing(ctx context.Context) (out Standing, err error) {
	session, workspace, sess := state.SessionRules(r.Session.ID), state.WorkspaceRules(r.Session.Workspace), state.SessionKey(r.Session.ID)
	err = r.insist(ctx, func() error {
		snap, err := r.s.store.Get(ctx, session, workspace, sess)
		if err != nil {
			return err
		}
		ours, err1 := state.Decode[state.Rules](session, snap.Docs[0])
		all, err2 := state.Decode[state.Rules](workspace, snap.Docs[1])
		now, err3 := state.Decode[core.Session](sess, snap.Docs[2])
		out = Standing{Session: ours.Value, Workspace: all.Value, Mode: now.Value.Mode, Others: r.s.Others(r.Prompt.Place.Platform)}
		return errors.Join(err1, err2, err3)
	})
	return out, err
}

// Used notes that stored rules of the session or of its workspace let a call through. It is worth no second try: when others change the rules meanwhile, the next use is noted.
func (r *Run) Used(ctx context.Context, by Standing, session, workspace []string) error {
	return errors.Join(r.used(ctx, state.SessionRules(r.Session.ID), by.Session, session), r.used(ctx, state.WorkspaceRules(r.Session.Workspace), by.Workspace, workspace))
}

func (r *Run) used(ctx context.Context, key store.Key, known state.Rules, names []string) error {
	if !known.Touch(names, r.Now()) { // none of these, or noted already
		return nil
	}
	d, now, err := state.Get[state.Rules](ctx, r.s.store, key)
	if err != nil || !d.Value.Touch(names, now) {
		return err
	}
	b := &state.Batch{}
	b.Update(key, d.Version, d.Value)
	_, err = b.Commit(ctx, r.s.store)
	return err
}
