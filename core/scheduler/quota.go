package scheduler

import (
	"context"
	"time"

	"paragents/core"
	"paragents/core/moves"
	"paragents/core/state"
	"paragents/store"
)

// quota is a document that claims under one limit change, so that of several which count at the same moment one wins.
type quota struct {
	By core.ReplicaID `json:"by"`
}

// quotaKept outlives every claim under way.
const quotaKept = time.Hour

// limit is a quota that a prompt counts for: what the index holds now must be less than most.
type limit struct {
	key   store.Key
	index store.Index
	most  int
}

// limits are the quotas of a session's first prompt.
func (s *Scheduler) limits(sess core.Session, p core.Prompt) []limit {
	var out []limit
	if s.cfg.MaxPerPerson > 0 {
		out = append(out, limit{state.QuotaKey("person/" + string(p.Author)), state.ByAuthor(p.Author), s.cfg.MaxPerPerson})
	}
	if s.cfg.MaxPerWorkspace > 0 {
		out = append(out, limit{state.QuotaKey("workspace/" + sess.Workspace), state.ByWorkspace(sess.Workspace), s.cfg.MaxPerWorkspace})
	}
	return out
}

// pages is how many pages of ready sessions a look goes through: further where many may stand in front that have used up their quota.
func (s *Scheduler) pages() int {
	if s.cfg.MaxPerPerson == 0 && s.cfg.MaxPerWorkspace == 0 {
		return scanPages
	}
	return 8 * scanPages
}

// within holds candidates back whose prompt is frozen, or whose quota is used up, counting those before them. Those of which there are no letters to send either are left out.
func (s *Scheduler) within(ctx context.Context, found []candidate) ([]candidate, error) {
	used := map[store.Index]int{}
	out := found[:0]
	for _, c := range found {
		if runnable(c.session.Value, c.prompt) {
			may, err := s.mayRun(ctx, c, used)
			if err != nil {
				return nil, err
			}
			if !may {
				letters, err := s.store.Read(ctx, state.Lane(c.session.Value.ID), 0, 1)
				if err != nil {
					return nil, err
				}
				if len(letters) == 0 {
					continue
				}
				c.back = true
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// mayRun reports whether a candidate's prompt may run now, and if so counts it.
func (s *Scheduler) mayRun(ctx context.Context, c candidate, used map[store.Index]int) (bool, error) {
	if s.frozen(c.session.Value.Workspace, c.prompt.Value.Author) {
		return false, nil
	}
	all := s.limits(c.session.Value, c.prompt.Value)
	for _, l := range all {
		if _, counted := used[l.index]; !counted {
			page, err := s.store.Scan(ctx, l.index, store.Range{Limit: 1})
			if err != nil {
				return false, err
			}
			used[l.index] = int(page.Total)
		}
		if used[l.index] >= l.most {
			s.early.Store(true)
			return false, nil
		}
	}
	for _, l := range all {
		used[l.index]++
	}
	return true, nil
}

// count makes a claim depend on its quotas; store.ErrConflict when one is used up.
func (s *Scheduler) count(ctx context.Context, b *moves.Batch, sess core.Session, p core.Prompt) error {
	for _, l := range s.limits(sess, p) {
		q, _, err := state.Get[quota](ctx, s.store, l.key)
		if err != nil {
			return err
		}
		page, err := s.store.Scan(ctx, l.index, store.Range{Limit: 1})
		if err != nil {
			return err
		}
		if int(page.Total) >= l.most {
			return store.ErrConflict
		}
		b.Expect(l.key, q.Version)
		b.Put(l.key, quota{By: s.ID()}, quotaKept)
	}
	return nil
}
