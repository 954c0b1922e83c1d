package bot

import (
	"context"
	"errors"
	"time"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/state"
)

// reply is an answer that belongs to no session: sent once, directly.
type reply struct {
	adapter  core.Adapter
	messages []core.Message
	direct   core.Person                 // whose conversation with the bot the messages go to, instead of to their place
	failed   func(error) []core.Message  // what is said instead where the messages cannot be sent; may be nil
	also     func(context.Context) error // something else to be done in its turn, best effort; may be nil
	done     chan<- struct{}             // closed when everything before it was sent; for Flush
}

// Bounds of the answers that wait to be sent: for their turn, whoever adds one more waits; for a chat that rests, one more is left out.
const (
	maxReplies = 256
	maxResting = 64
)

// resting are the answers for a chat that may not be sent to before a time of this process's clock.
type resting struct {
	until   time.Time
	replies []reply
}

// Run sends the answers that belong to no session, in order, until the context ends. Those for a chat that must rest wait, and hold up no other chat.
func (d *Desk) Run(ctx context.Context) error {
	chats := map[string]*resting{}
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-d.replies:
			if r.done != nil {
				close(r.done)
				continue
			}
			if r.also != nil {
				if err := r.also(ctx); err != nil {
					d.cfg.Logger.Debug("cannot do what goes with an answer", "error", err)
				}
				continue
			}
			if r.direct != "" && !d.address(ctx, &r) {
				continue
			}
			d.deliver(ctx, chats, r)
		case <-wake.C:
			for chat, w := range chats {
				if time.Now().Before(w.until) {
					continue
				}
				delete(chats, chat)
				for _, r := range w.replies {
					d.deliver(ctx, chats, r)
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

// queue puts an answer behind what others are told; false: the context ended.
func (d *Desk) queue(ctx context.Context, r reply) bool {
	select {
	case d.replies <- r:
		return true
	case <-ctx.Done():
		return false
	}
}

// address finds the conversation that an answer goes to; false: there is none.
func (d *Desk) address(ctx context.Context, r *reply) bool {
	director, ok := r.adapter.(core.Director)
	if !ok {
		return false
	}
	place, err := director.Direct(ctx, r.direct)
	if err != nil {
		d.cfg.Logger.Warn("cannot write to a person", "person", r.direct, "error", err)
		return false
	}
	for i := range r.messages {
		r.messages[i].Place, r.messages[i].Only = place, r.direct
	}
	return true
}

// deliver sends one answer, or puts what is left of it behind what its chat waits for.
func (d *Desk) deliver(ctx context.Context, chats map[string]*resting, r reply) {
	if len(r.messages) == 0 {
		return
	}
	place := r.messages[0].Place
	place.Thread = "" // the platform counts by chat
	w := chats[place.Key()]
	if w == nil {
		wait, rest := d.sendAll(ctx, place, r)
		if wait == 0 {
			return
		}
		w = &resting{until: time.Now().Add(wait)}
		chats[place.Key()] = w
		if r.messages = rest; len(rest) == 0 {
			return
		}
	}
	if len(w.replies) == maxResting {
		d.cfg.Logger.Warn("leaving out an answer: too many wait for a chat that rests", "place", place.Key())
		return
	}
	w.replies = append(w.replies, r)
}

// sendAll sends an answer, and returns how long its place has to rest afterwards, and the messages that are left until then.
func (d *Desk) sendAll(ctx context.Context, place core.Place, r reply) (wait time.Duration, left []core.Message) {
	wait, slowly, err := delivery.Resting(ctx, d.cfg.Store, place)
	if err != nil {
		d.cfg.Logger.Warn("cannot see whether a chat rests; sending", "place", place.Key(), "error", err)
	}
	if wait > 0 {
		return wait, r.messages
	}
	for i, m := range r.messages {
		err := d.send(ctx, r.adapter, m)
		if err == nil {
			if slowly {
				if wait, err := delivery.Pause(ctx, d.cfg.Store, place, r.adapter.Capabilities()); err == nil && wait > 0 {
					return wait, r.messages[i+1:]
				}
			}
			continue
		}
		if wait, unsaid := delivery.Rest(ctx, d.cfg.Store, place, err); wait > 0 {
			if unsaid != nil {
				d.cfg.Logger.Warn("cannot tell other replicas that a chat rests", "place", place.Key(), "error", unsaid)
			}
			return wait, r.messages[i:]
		}
		d.cfg.Logger.Warn("cannot answer", "place", place.Key(), "error", err)
		if r.failed != nil {
			return d.sendAll(ctx, place, reply{adapter: r.adapter, messages: r.failed(err)})
		}
		break
	}
	return 0, nil
}

// Flush waits until the answers that were given so far are sent, but for those that wait for a chat that rests, at most limit.
func (d *Desk) Flush(limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	done := make(chan struct{})
	select {
	case d.replies <- reply{done: done}:
	case <-t.C:
		return
	}
	select {
	case <-done:
	case <-t.C:
	}
}

// send sends a message of no session: once, and plainly if its markup is refused.
func (d *Desk) send(ctx context.Context, a core.Adapter, m core.Message) error {
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
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		d.cfg.Logger.Warn("cannot remember where a question stands; its buttons stay", "error", err)
	}
	return nil
}

// react marks the visitor's message, and reports whether it is marked. A chat that must rest is left alone.
func (d *Desk) react(ctx context.Context, v *visit, mark string) bool {
	r, ok := v.adapter.(core.Reactor)
	if !ok || v.Message == "" {
		return false
	}
	if wait, _, err := delivery.Resting(ctx, d.cfg.Store, v.Place); err != nil || wait > 0 {
		return false
	}
	err := r.React(ctx, v.Place, v.Message, mark)
	if err != nil {
		d.screen.rests(ctx, v.Place, err)
	}
	return err == nil
}
