package scheduler

import (
	"context"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// listen waits for bells: something is ready, or a prompt has an order. Bells can be lost; the dispatcher looks every second, and orders are read
// again at every renewal of the lease.
func (s *Scheduler) listen(ctx context.Context) {
	for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 5*time.Second) {
		bells, err := s.store.Subscribe(ctx, state.BellReady, state.BellOrder, state.BellFreeze, state.BellReplicas)
		if err != nil {
			s.log.Warn("cannot listen for bells; looking every second instead, and trying again", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			continue
		}
		wait = 100 * time.Millisecond
		for n := range bells {
			switch n.Topic {
			case state.BellFreeze:
				s.brake(ctx)
			case state.BellReplicas:
				s.Compare(ctx)
			case state.BellReady:
				s.poke()
			case state.BellOrder:
				if h := s.running(core.PromptID(n.Payload)); h != nil {
					s.obey(ctx, map[core.PromptID]*holding{core.PromptID(n.Payload): h})
				}
			}
		}
	}
}

// orders reads the prompts that run here, for orders whose bell was lost.
func (s *Scheduler) orders(ctx context.Context) {
	s.mu.Lock()
	all := make(map[core.PromptID]*holding, len(s.held))
	for _, h := range s.held {
		if r := h.get(); r != nil && r.Prompt.ID != "" {
			all[r.Prompt.ID] = h
		}
	}
	s.mu.Unlock()
	s.obey(ctx, all)
}

// running finds the holding that runs a prompt.
func (s *Scheduler) running(id core.PromptID) *holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		if r := h.get(); r != nil && r.Prompt.ID == id {
			return h
		}
	}
	return nil
}

// obey reads prompts and carries out their orders.
func (s *Scheduler) obey(ctx context.Context, holdings map[core.PromptID]*holding) {
	ids := make([]core.PromptID, 0, len(holdings))
	keys := make([]store.Key, 0, len(holdings))
	for id := range holdings {
		ids = append(ids, id)
		keys = append(keys, state.PromptKey(id))
	}
	docs, _, err := state.GetAll[core.Prompt](ctx, s.store, keys)
	if err != nil {
		s.log.Warn("cannot read orders; trying again at the next renewal", "error", err)
		return
	}
	for i, d := range docs {
		switch {
		case d.Value.State != core.Running:
		case d.Value.Order == core.OrderCancel:
			holdings[ids[i]].stop(errCancel)
		case d.Value.Order == core.OrderPause:
			holdings[ids[i]].parkNow(true)
		case len(d.Value.Steer) > 0:
			holdings[ids[i]].setSteered(true)
		}
	}
}

// drop ends all runs at once.
func (s *Scheduler) drop(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		h.stop(cause)
	}
}
