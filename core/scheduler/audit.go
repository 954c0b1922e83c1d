package scheduler

import (
	"context"
	"errors"

	"paragents/core/audit"
	"paragents/store"
)

// Entry is one line of the audit log.
type Entry = audit.Entry

// seal closes what has come into the audit log, and removes what is too old to be kept.
func (s *Scheduler) seal(ctx context.Context) {
	err := audit.Seal(ctx, s.store)
	if err == nil {
		err = audit.Expire(ctx, s.store)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
		s.log.Warn("cannot seal the audit log; trying again", "error", err)
	}
}
