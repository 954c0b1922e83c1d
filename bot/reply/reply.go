// Package reply sends answers that belong to no session: directly, once and in order. Those for a chat that must rest wait, and hold up no other chat.
package reply

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/state"
	"paragents/store"
)

// Reply is an answer that belongs to no session: sent once, directly.
type Reply struct {
	Adapter  core.Adapter
	Messages []core.Message
	Direct   core.Person                 // whose conversation with the bot the messages go to, instead of to their place
	Failed   func(error) []core.Message  // what is said instead where the messages cannot be sent; may be nil
	Also     func(context.Context) error // something else to be done in its turn, best effort; may be nil
	done     chan<- struct{}             // closed when everything before it was sent; for Flush
}

// Queue are the answers that wait to be sent.
type Queue struct {
	store   store.Store
	logger  *slog.Logger
	replies chan Reply
}

// New makes an empty queue; Run sends what is added to it.
func New(st store.Store, logger *slog.Logger) *Queue {
	return &Queue{store: st, logger: logger, replies: make(chan Reply, maxReplies)}
}

// Bounds of the answers that wait to be sent: for their turn, whoever adds one more waits; for a chat that rests, one more is left out.
const (
	maxReplies = 256
	maxResting = 64
)

// resting are the answers for a chat that may not be sent to before a time of this process's clock.
type resting struct {
	until   time.Time
	replies []Reply
}

// Run sends the answers that belong to no session, in order, until the context ends. Those for a chat that must rest wait, and hold up no other chat.
func (q *Queue) Run(ctx context.Context) error {
	chats := map[string]*resting{}
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-q.replies:
			if r.done != nil {
				close(r.done)
				continue
			}
			if r.Also != nil {
				if err := r.Also(ctx); err != nil {
					q.logger.Debug("cannot do what goes with an answer", "error", err)
				}
				continue
			}
			if r.Direct != "" && !q.address(ctx, &r) {
				continue
			}
			q.deliver(ctx, chats, r)
		case <-wake.C:
			for chat, w := range chats {
				if time.Now().Before(w.until) {
					continue
				}
				delete(chats, chat)
				for _, r := range w.replies {
					q.deliver(ctx, chats, r)
				}
			}
		}
		next := time.Hour
		for _, w := range chats {
			next = min(next, time.Until(w.until))
		}
		wake.Reset(max(next, 0))
	}
}

// Add puts an answer behind what others are told; false: the context ended.
func (q *Queue) Add(ctx context.Context, r Reply) bool {
	select {
	case q.replies <- r:
		return true
	case <-ctx.Done():
		return false
	}
}

// address finds the conversation that an answer goes to; false: there is none.
func (q *Queue) address(ctx context.Context, r *Reply) bool {
	director, ok := r.Adapter.(core.Director)
	if !ok {
		return false
	}
	place, err := director.Direct(ctx, r.Direct)
	if err != nil {
		q.logger.Warn("cannot write to a person", "person", r.Direct, "error", err)
		return false
	}
	for i := range r.Messages {
		r.Messages[i].Place, r.Messages[i].Only = place, r.Direct
	}
	return true
}

// deliver sends one answer, or puts what is left of it behind what its chat waits for.
func (q *Queue) deliver(ctx context.Context, chats map[string]*resting, r Reply) {
	if len(r.Messages) == 0 {
		return
	}
	place := r.Messages[0].Place
	place.Thread = "" // the platform counts by chat
	w := chats[place.Key()]
	if w == nil {
		wait, rest := q.sendAll(ctx, place, r)
		if wait == 0 {
			return
		}
		w = &resting{until: time.Now().Add(wait)}
		chats[place.Key()] = w
		if r.Messages = rest; len(rest) == 0 {
			return
		}
	}
	if len(w.replies) == maxResting {
		q.logger.Warn("leaving out an answer: too many wait for a chat that rests", "place", place.Key())
		return
	}
	w.replies = append(w.replies, r)
}

// sendAll sends an answer, and returns how long its place has to rest afterwards, and the messages that are left until then.
func (q *Queue) sendAll(ctx context.Context, place core.Place, r Reply) (wait time.Duration, left []core.Message) {
	wait, slowly, err := delivery.Resting(ctx, q.store, place)
	if err != nil {
		q.logger.Warn("cannot see whether a chat rests; sending", "place", place.Key(), "error", err)
	}
	if wait > 0 {
		return wait, r.Messages
	}
	for i, m := range r.Messages {
		err := q.send(ctx, r.Adapter, m)
		if err == nil {
			if slowly {
				if wait, err := delivery.Pause(ctx, q.store, place, r.Adapter.Capabilities()); err == nil && wait > 0 {
					return wait, r.Messages[i+1:]
				}
			}
			continue
		}
		if wait := q.rest(ctx, place, err); wait > 0 {
			return wait, r.Messages[i:]
		}
		q.logger.Warn("cannot answer", "place", place.Key(), "error", err)
		if r.Failed != nil {
			return q.sendAll(ctx, place, Reply{Adapter: r.Adapter, Messages: r.Failed(err)})
		}
		break
	}
	return 0, nil
}

// Flush waits until the answers that were given so far are sent, but for those that wait for a chat that rests, at most limit.
func (q *Queue) Flush(limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	done := make(chan struct{})
	select {
	case q.replies <- Reply{done: done}:
	case <-t.C:
		return
	}
	select {
	case <-done:
	case <-t.C:
	}
}

// send sends a message of no session: once, and plainly if its markup is refused.
func (q *Queue) send(ctx context.Context, a core.Adapter, m core.Message) error {
	id, err := a.Send(ctx, m)
	var fault *core.SendError
	if errors.As(err, &fault) && fault.Fault == core.FaultMarkup {
		m.Text = ""
		id, err = a.Send(ctx, m)
	}
	if err != nil || m.Card == "" || id == "" {
		return err
	}
	var b state.Batch
	delivery.PutCard(&b, m.Card, m.Place, id)
	if _, err := b.Commit(ctx, q.store); err != nil {
		q.logger.Warn("cannot remember where a question stands; its buttons stay", "error", err)
	}
	return nil
}

// React marks a message, and reports whether it is marked. A chat that must rest is left alone.
func (q *Queue) React(ctx context.Context, a core.Adapter, place core.Place, message, mark string) bool {
	r, ok := a.(core.Reactor)
	if !ok || message == "" {
		return false
	}
	if wait, _, err := delivery.Resting(ctx, q.store, place); err != nil || wait > 0 {
		return false
	}
	err := r.React(ctx, place, message, mark)
	if err != nil {
		q.rest(ctx, place, err)
	}
	return err == nil
}

// Change puts others in place of a message that was answered, best effort. A chat that must rest is left alone.
func (q *Queue) Change(ctx context.Context, a core.Adapter, place core.Place, message string, to []core.Message) {
	if wait, _, err := delivery.Resting(ctx, q.store, place); err != nil || wait > 0 {
		return
	}
	for _, m := range to {
		if err := a.Edit(ctx, message, m); err != nil {
			q.rest(ctx, place, err)
			q.logger.Debug("cannot change a message that was answered", "error", err)
		}
	}
}

// rest tells all replicas if an error says that the chat has to rest, and for how long that is.
func (q *Queue) rest(ctx context.Context, place core.Place, failed error) time.Duration {
	wait, err := delivery.Rest(ctx, q.store, place, failed)
	if err != nil {
		q.logger.Warn("cannot tell other replicas that a chat rests", "place", place.Key(), "error", err)
	}
	return wait
}
