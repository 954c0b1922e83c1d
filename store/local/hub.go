package local

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"paragents/store"
)

// heard is how many notifications a subscription holds before new ones are dropped.
const heard = 256

// hub passes notifications to the subscriptions of this process, and to those of the processes that are connected to it.
type hub struct {
	mu     sync.Mutex
	all    map[*subscription]struct{}
	topics map[store.Topic]map[*subscription]struct{}
	closed bool
}

// subscription is one listener. Its channel is closed by the hub, under the hub's lock.
type subscription struct {
	topics []store.Topic
	rings  chan store.Notification
}

func newHub() *hub {
	return &hub{all: make(map[*subscription]struct{}), topics: make(map[store.Topic]map[*subscription]struct{})}
}

// add begins a subscription; after close it is one that has ended.
func (h *hub) add(topics ...store.Topic) *subscription {
	s := &subscription{rings: make(chan store.Notification, heard)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(s.rings)
		return s
	}
	h.all[s] = struct{}{}
	h.link(s, topics)
	return s
}

// replace gives a subscription other topics.
func (h *hub) replace(s *subscription, topics []store.Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, on := h.all[s]; on {
		h.unlink(s)
		h.link(s, topics)
	}
}

// remove ends a subscription and closes its channel; a second time does nothing.
func (h *hub) remove(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, on := h.all[s]; on {
		h.unlink(s)
		delete(h.all, s)
		close(s.rings)
	}
}

func (h *hub) link(s *subscription, topics []store.Topic) {
	s.topics = slices.Clone(topics)
	for _, topic := range topics {
		if h.topics[topic] == nil {
			h.topics[topic] = make(map[*subscription]struct{})
		}
		h.topics[topic][s] = struct{}{}
	}
}

func (h *hub) unlink(s *subscription) {
	for _, topic := range s.topics {
		delete(h.topics[topic], s)
		if len(h.topics[topic]) == 0 {
			delete(h.topics, topic)
		}
	}
	s.topics = nil
}

// ring passes notifications on and never waits.
func (h *hub) ring(notes []store.Notify) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range notes {
		for s := range h.topics[n.Topic] {
			select {
			case s.rings <- store.Notification{Topic: n.Topic, Payload: bytes.Clone(n.Payload)}:
			default:
			}
		}
	}
}

// wanted are the topics that somebody listens to.
func (h *hub) wanted() []store.Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.topics))
}

// close ends all subscriptions.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.all {
		close(s.rings)
	}
	clear(h.all)
	clear(h.topics)
}
