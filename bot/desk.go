package bot

import (
	"context"
	"errors"
	"strings"
	"time"

	"paragents/bot/button"
	"paragents/bot/change"
	"paragents/bot/decide"
	"paragents/bot/door"
	"paragents/bot/grammar"
	"paragents/bot/look"
	"paragents/bot/reply"
	"paragents/bot/screen"
	"paragents/bot/setting"
	"paragents/bot/target"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/store"
)

// Desk is the way in: what platforms bring becomes commands, decisions and prompts. Access comes first, then commands, then prompts.
type Desk struct {
	cfg     setting.Config
	screen  *screen.Screen
	s       *scheduler.Scheduler
	replies *reply.Queue
	find    *target.Finder
	look    *look.Desk
	decide  *decide.Desk
	change  *change.Desk
	door    *door.Desk
	entries map[string]entry
}

// Serve gives the desk, and the screen, their scheduler.
func (d *Desk) Serve(s *scheduler.Scheduler) {
	d.s = s
	d.screen.Serve(s)
	d.find = target.New(d.cfg, s)
	d.look = look.New(d.cfg, s, d.find, d.replies)
	d.decide = decide.New(d.cfg, s, d.find)
	d.change = change.New(d.cfg, s, d.find, d.submit, d.unbind)
	d.door = door.New(d.cfg, s, d.replies)
	d.entries = d.commands()
}

// Run sends the answers that belong to no session, in order, until the context ends.
func (d *Desk) Run(ctx context.Context) error { return d.replies.Run(ctx) }

// Flush waits until the answers that were given so far are sent, but for those that wait for a chat that rests, at most limit.
func (d *Desk) Flush(limit time.Duration) { d.replies.Flush(limit) }

// Accept takes a platform's events, in order. When it returns nil they are durable, and the platform may be told so; an error means that all of them have to come
// again. An event that was taken before does nothing.
func (d *Desk) Accept(ctx context.Context, adapter core.Adapter, events []core.Inbound, cursor []byte) error {
	visits, now, err := d.read(ctx, adapter, events)
	if err != nil {
		return err
	}
	var subs []scheduler.Submission
	var from []*visit.Visit
	var seen []string
	flush := func(last bool) error {
		if len(subs) == 0 && len(seen) == 0 && !(last && cursor != nil) {
			return nil
		}
		accepted, err := d.s.Accept(ctx, subs, func(b *state.Batch) {
			for _, id := range seen {
				b.Put(state.EventKey(id), state.Seen{}, state.EventKept)
			}
			if last && cursor != nil {
				b.Put(state.CursorKey(adapter.Capabilities().Platform), Cursor{At: cursor}, 0)
			}
		})
		if err != nil {
			return err
		}
		for i, a := range accepted {
			d.accepted(ctx, from[i], a)
		}
		subs, from, seen = nil, nil, nil
		return nil
	}
	for _, v := range visits {
		sub, ok := d.admit(ctx, v, now)
		if ok && d.maySteer(sub, v) {
			if err := flush(false); err != nil {
				return err
			}
			steered, err := d.steered(ctx, v, sub)
			if err != nil {
				return err
			}
			if steered {
				continue
			}
		}
		if ok && v.Group == "" {
			subs, from = append(subs, sub), append(from, v)
			continue
		}
		// Anything that is no prompt acts at once, after the prompts before it, and is remembered afterwards: done twice it changes nothing.
		if err := flush(false); err != nil {
			return err
		}
		var err error
		if ok {
			err = d.s.Gather(ctx, v.Place.Key()+"/"+v.Group, sub)
		} else {
			err = d.act(ctx, v)
		}
		if err != nil {
			return err
		}
		seen = append(seen, v.ID)
		d.answer(ctx, v)
	}
	return flush(true)
}

// Cursor is how far an adapter has been accepted.
type Cursor struct {
	At []byte `json:"at"`
}

// CursorAt reads how far a platform was accepted.
func (d *Desk) CursorAt(ctx context.Context, platform string) ([]byte, error) {
	c, _, err := state.Get[Cursor](ctx, d.cfg.Store, state.CursorKey(platform))
	return c.Value.At, err
}

// read gets everything that the store knows about the events, in one round trip. Events that were taken before are left out.
func (d *Desk) read(ctx context.Context, adapter core.Adapter, events []core.Inbound) ([]*visit.Visit, time.Time, error) {
	keys := []store.Key{state.AccessKey}
	for _, e := range events {
		keys = append(keys, state.EventKey(e.ID), state.BindKey(e.Place), state.SentKey(e.Place, e.ReplyTo), state.ButtonKey(e.Token))
	}
	snap, err := d.cfg.Store.Get(ctx, keys...)
	if err != nil {
		return nil, time.Time{}, err
	}
	grants, err := state.Decode[access.Grants](keys[0], snap.Docs[0])
	if err != nil {
		return nil, time.Time{}, err
	}
	var out []*visit.Visit
	for i, e := range events {
		docs := snap.Docs[1+4*i : 5+4*i]
		if docs[0].Version != 0 {
			continue
		}
		v := &visit.Visit{Inbound: e, Adapter: adapter, Caps: adapter.Capabilities(), Grants: grants.Value}
		v.Role = d.cfg.Access.Role(grants.Value, e.Person, e.Place)
		bound, err1 := state.Decode[state.Binding]("", docs[1])
		sent, err2 := state.Decode[delivery.Sent]("", docs[2])
		button, err3 := state.Decode[button.Press]("", docs[3])
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, time.Time{}, err
		}
		v.Bound, v.Replied = bound.Value.Session, sent.Value.Session
		if button.Exists() && e.Token != "" {
			v.Press = &button.Value
		}
		out = append(out, v)
	}
	return out, snap.Time, d.owners(ctx, out)
}

// owners reads whose sessions the threads are that messages without a mention stand in.
func (d *Desk) owners(ctx context.Context, visits []*visit.Visit) error {
	var keys []store.Key
	var of []*visit.Visit
	for _, v := range visits {
		if v.Kind == core.InMessage && v.Bound != "" && v.Place.Thread != "" && !v.Addressed {
			keys, of = append(keys, state.SessionKey(v.Bound)), append(of, v)
		}
	}
	docs, _, err := state.GetAll[core.Session](ctx, d.cfg.Store, keys)
	for i, s := range docs {
		of[i].Owner = s.Value.Owner
	}
	return err
}

// admit decides whether an event is a prompt. Everything else goes to act.
func (d *Desk) admit(ctx context.Context, v *visit.Visit, now time.Time) (scheduler.Submission, bool) {
	if v.Kind != core.InMessage || v.Bot || v.Role < access.Operator || !d.meant(v) || grammar.IsStop(v.Text) || late(v.Inbound, now) {
		return scheduler.Submission{}, false
	}
	if _, command := v.Typed(); command || strings.TrimSpace(v.Text) == "" && len(v.Files) == 0 {
		return scheduler.Submission{}, false
	}
	sub := scheduler.Submission{Event: v.ID, Author: v.Person, Place: v.Place, Text: v.Request(), Message: v.Message, Attachments: v.Files, Entered: v.Entered()}
	switch {
	case v.Replied != "":
		sub.Session = v.Replied
	case v.Bound != "":
		sub.Session = v.Bound
	default:
		sub.New = &scheduler.NewSession{Workspace: d.cfg.WorkspaceAt(v.Place), Bind: true, Join: true}
	}
	return sub, true
}

// meant reports whether a message is meant for the bot: it was addressed, or it stands in a thread of the bot's whose owner, or everyone, is heard.
func (d *Desk) meant(v *visit.Visit) bool {
	if v.ToOther {
		return false
	}
	if v.Addressed || v.Place.Private || v.Replied != "" {
		return true
	}
	replies := "owner"
	if d.cfg.At != nil {
		if _, r := d.cfg.At(v.Place); r != "" {
			replies = r
		}
	}
	return v.Place.Thread != "" && v.Bound != "" && (replies == "everyone" || replies == "owner" && v.Owner == v.Person)
}
