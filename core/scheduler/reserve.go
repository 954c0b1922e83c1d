package scheduler

import (
	"context"
	"errors"
	"slices"

	"paragents/core"
	"paragents/core/claims"
	"paragents/core/moves"
	"paragents/core/preflight"
	"paragents/core/reserve"
	"paragents/core/state"
)

// foresee reserves what the prompt's text says that it will write, before its first tool call can. An outcome with a state means that the agent is not to run.
func (r *Run) foresee(ctx context.Context) Outcome {
	if r.Prompt.Guess == nil || len(r.Prompt.Guess.Claims) == 0 {
		return Outcome{}
	}
	err := r.insist(ctx, func() error {
		b := r.batch()
		hit, err := r.s.books.Reserve(ctx, b, r.Session, r.Prompt, r.Prompt.Guess.Claims)
		if err != nil {
			return err
		}
		if len(b.Batch.Batch.Put) > 0 {
			err = r.commit(ctx, b)
		}
		if err == nil && hit != nil {
			return hit
		}
		return err
	})
	var hit *core.Collision
	switch {
	case err == nil:
		return Outcome{}
	case errors.As(err, &hit):
		return Outcome{State: core.Blocked, Conflict: &hit.Conflict}
	case ctx.Err() != nil, errors.Is(err, errLost):
		return Outcome{State: core.Queued}
	}
	return Outcome{State: core.Failed, Error: "cannot reserve what it would write: " + err.Error()}
}

// Foresee keeps a better guess about the prompt, and reserves what is new in it. The error is a *core.Collision if somebody else holds that.
func (r *Run) Foresee(ctx context.Context, g core.Guess) error {
	return r.insist(ctx, func() error {
		p, _, err := state.Get[core.Prompt](ctx, r.s.store, state.PromptKey(r.Prompt.ID))
		if err != nil {
			return err
		}
		b := r.batch()
		hit, err := r.s.books.Reserve(ctx, b, r.Session, r.Prompt, g.Claims)
		if err != nil {
			return err
		}
		p.Value.Guess = &g
		b.Update(state.PromptKey(r.Prompt.ID), p.Version, p.Value)
		if err := r.commit(ctx, b); err != nil {
			return err
		}
		if r.Prompt.Guess = &g; hit != nil {
			return hit
		}
		return nil
	})
}

// Touched tells both sides that paths changed while a command of this run went on although others hold them: it could not be known before. sum is the SHA-256 of what a file
// holds now, by which an owner's own writes are told apart. Own claims, and what a person allowed, are no conflict.
func (r *Run) Touched(ctx context.Context, paths []string, sum func(path string) string) error {
	return r.insist(ctx, func() error {
		l, err := r.s.books.Open(ctx, r.Session)
		if err != nil {
			return err
		}
		found, err := l.Conflicts(ctx, r.Prompt.ID, reserve.Claims(paths))
		if err != nil {
			return err
		}
		own := map[core.PromptID]map[string]string{}
		for _, owner := range claims.Owners(found) {
			if own[owner], err = r.s.left(ctx, l.Book.Holders[owner].Session); err != nil {
				return err
			}
		}
		found = slices.DeleteFunc(found, func(f preflight.Conflict) bool {
			after, wrote := own[f.Owner][string(f.Mine)]
			return wrote && after == sum(string(f.Mine))
		})
		if len(found) == 0 {
			return nil
		}
		b := moves.On(&r.s.clock)
		b.Fence = &r.fence
		b.Found(r.Session, r.Prompt, l.Conflict(found))
		return r.commit(ctx, b)
	})
}

// left is what a session's file tools left in files, by path: the SHA-256 of it.
func (s *Scheduler) left(ctx context.Context, id core.SessionID) (map[string]string, error) {
	records, err := s.Transcript(ctx, id)
	out := map[string]string{}
	for _, rec := range records {
		for _, ch := range rec.Changes {
			out[ch.Path] = ch.After
		}
	}
	return out, err
}
