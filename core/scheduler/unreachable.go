package scheduler

import (
	"context"
	"fmt"

	"paragents/core"
	"paragents/core/state"
)

// Unreachable notes that nobody can be asked at a prompt's place any more, and why: what it asks is refused with that reason instead of waiting for an answer that
// cannot come, and so is what it would ask later. What only a person could let go on ends.
func (s *Scheduler) Unreachable(ctx context.Context, id core.PromptID, why string) error {
	_, err := s.change(ctx, id, "unreachable", "", func(b *state.Batch, p *pair) error {
		v := &p.prompt.Value
		if v.State.Ended() {
			return nil
		}
		v.Unreachable = why
		switch {
		case v.State == core.Waiting && len(v.Pending) > 0:
			if err := s.withdraw(ctx, b, *v, "", why); err != nil {
				return err
			}
			v.Question, v.Choices = "", nil
			s.ready(b, v.Session)
			return v.To(core.Queued, "")
		case v.State == core.Waiting, v.State == core.Blocked:
			return s.end(b, &p.session, v, core.Cancelled, Outcome{Error: unasked(v.Reason, why)})
		}
		return nil
	})
	return err
}

func unasked(what, why string) string { return fmt.Sprintf("nobody can be asked (%s): %s", why, what) }
