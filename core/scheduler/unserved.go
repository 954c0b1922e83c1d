package scheduler

import (
	"context"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/moves"
	"paragents/core/state"
	"paragents/store"
)

const (
	// unservedAfter is how long a prompt waits for a replica that serves its workspace before its place hears of it.
	unservedAfter = 10 * time.Second
	unservedKept  = 7 * 24 * time.Hour
)

// unserved tells the places of prompts whose workspace no live replica serves, once. Whoever speaks there takes the session for that, and gives it back.
func (s *Scheduler) unserved(ctx context.Context) {
	page, err := s.store.Scan(ctx, state.Ready, store.Range{Limit: scanPage, Due: true})
	if err != nil {
		return // the dispatcher has logged that the store is away
	}
	for _, e := range page.Entries {
		if page.Time.Sub(time.UnixMilli(int64(e.Score))) < unservedAfter {
			return // they are in order
		}
		if err := s.tellUnserved(ctx, core.SessionID(e.Member)); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot tell that nobody serves a workspace; trying again", "session", e.Member, "error", err)
		}
	}
}

func (s *Scheduler) tellUnserved(ctx context.Context, id core.SessionID) error {
	sess, _, err := state.Get[core.Session](ctx, s.store, state.SessionKey(id))
	if err != nil || !sess.Exists() || len(sess.Value.Queue) == 0 || !s.cfg.Reaches(sess.Value.Place) || s.served(sess.Value) {
		return err
	}
	told, _, err := state.Get[state.Claim](ctx, s.store, state.UnservedKey(id))
	if err != nil || told.Exists() {
		return err
	}
	p, err := s.Load(ctx, sess.Value.Queue[0])
	if err != nil || !runnable(p.Session.Value, p.Prompt) {
		return err
	}
	b := moves.Durable(&s.clock)
	b.Expect(state.UnservedKey(id), 0)
	b.Expect(state.PromptKey(p.Prompt.Value.ID), p.Prompt.Version)
	b.Put(state.UnservedKey(id), state.Claim{Replica: s.ID(), Since: s.clock.Now()}, unservedKept)
	b.Say(p.Session.Value, p.Prompt.Value, core.Event{Type: core.EventNotice,
		Text: fmt.Sprintf("No replica serves the workspace %s at the moment. It waits, and begins when one does; `paragents replicas` shows who serves what.", sess.Value.Workspace)}, true)
	if _, err := b.Commit(ctx, s.store); err != nil {
		return err
	}
	s.log.Warn("no replica serves a workspace that work waits for", "workspace", sess.Value.Workspace, "session", sess.Value.Ref)
	s.start(candidate{session: p.Session})
	return nil
}

// served reports whether any live replica serves a session's workspace and speaks at its place.
func (s *Scheduler) served(sess core.Session) bool {
	if s.cfg.Serves(sess.Workspace) {
		return true
	}
	for _, o := range s.Others(sess.Place.Platform) {
		if _, ok := o.Workspaces[sess.Workspace]; ok {
			return true
		}
	}
	return false
}
