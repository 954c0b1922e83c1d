package scheduler

import (
	"context"
	"errors"

	"paragents/core"
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
