package scheduler

import (
	"context"
	"errors"

	"paragents/core/audit"
	"paragents/store"
)

// Entry is one line of the audit log.
type Entry = audit.Entry

// seal closes what has come into the audit log.
func (s *Scheduler) seal(ctx context.Context) {
	if err := audit.Seal(ctx, s.store); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
		s.log.Warn("cannot seal the audit log; trying again", "error", err)
	}
}
