package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/store"
)

// Desk is the way in: what platforms bring becomes commands, decisions and prompts. Access comes first, then commands, then prompts.
type Desk struct {
	cfg     Config
	screen  *Screen
	s       *scheduler.Scheduler
	replies chan reply
	entries map[string]entry
}

// Serve gives the desk, and the screen's courier, their scheduler.
func (d *Desk) Serve(s *scheduler.Scheduler) { d.s, d.screen.s = s, s }

// visit is one inbound event with what is known about it.
type visit struct {
	core.Inbound
	adapter core.Adapter
	caps    core.Capabilities
	grants  access.Grants
	role    access.Role
	bound   core.SessionID // of the place
	replied core.SessionID // of the message that this one answers
	owner   core.Person    // of the bound session, where that decides whether the message is meant for the bot
	press   *press
	out     []page // answers
}

// request is what the visitor asks, with the message that they point at as quoted data: it may be anybody's, and gives no orders.
func (v *visit) request() string {
	if v.Quote == "" || v.replied != "" { // the bot's own words are in the session
		return v.Text
	}
	mark := "-----"
	for strings.Contains(v.Quote, mark) {
		mark += "-"
	}
	return v.Text + fmt.Sprintf(tellsQuoted, mark, v.Quote, mark)
}

// entered says for people what of request the visitor did not write.
func (v *visit) entered() []string {
	if v.request() == v.Text {
		return nil
	}
	return []string{saysQuote}
}

func (v *visit) say(format string, args ...any) {
	v.out = append(v.out, page{text: fmt.Sprintf(format, args...)})
}

// Accept takes a platform's events, in order. When it returns nil they are durable, and the platform may be told so; an error means that all of them have to come
// again. An event that was taken before does nothing.
func (d *Desk) Accept(ctx context.Context, adapter core.Adapter, events []core.Inbound, cursor []byte) error {
	visits, now, err := d.read(ctx, adapter, events)
	if err != nil {
		return err
	}
	var subs []scheduler.Submission
	var from []*visit
	var seen []string
	flush := func(last bool) error {
		if len(subs) == 0 && len(seen) == 0 && !(last && cursor != nil) {
			return nil
		}
		accepted, err := d.s.Accept(ctx, subs, func(b *state.Batch) {
			for _, id := range seen {
				b.Put(state.EventKey(id), scheduler.Seen{}, scheduler.EventKept)
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
func (d *Desk) read(ctx context.Context, adapter core.Adapter, events []core.Inbound) ([]*visit, time.Time, error) {
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
	var out []*visit
	for i, e := range events {
		docs := snap.Docs[1+4*i : 5+4*i]
		if docs[0].Version != 0 {
			continue
		}
		v := &visit{Inbound: e, adapter: adapter, caps: adapter.Capabilities(), grants: grants.Value}
		v.role = d.cfg.Access.Role(grants.Value, e.Person, e.Place)
		bound, err1 := state.Decode[scheduler.Binding]("", docs[1])
		sent, err2 := state.Decode[delivery.Sent]("", docs[2])
		button, err3 := state.Decode[press]("", docs[3])
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, time.Time{}, err
		}
		v.bound, v.replied = bound.Value.Session, sent.Value.Session
		if button.Exists() && e.Token != "" {
			v.press = &button.Value
		}
		out = append(out, v)
	}
	return out, snap.Time, d.owners(ctx, out)
}

// owners reads whose sessions the threads are that messages without a mention stand in.
func (d *Desk) owners(ctx context.Context, visits []*visit) error {
	var keys []store.Key
	var of []*visit
	for _, v := range visits {
		if v.Kind == core.InMessage && v.bound != "" && v.Place.Thread != "" && !v.Addressed {
			keys, of = append(keys, state.SessionKey(v.bound)), append(of, v)
		}
	}
	docs, _, err := state.GetAll[core.Session](ctx, d.cfg.Store, keys)
	for i, s := range docs {
		of[i].owner = s.Value.Owner
	}
	return err
}

// admit decides whether an event is a prompt. Everything else goes to act.
func (d *Desk) admit(ctx context.Context, v *visit, now time.Time) (scheduler.Submission, bool) {
	if v.Kind != core.InMessage || v.Bot || v.role < access.Operator || !d.meant(v) || isStop(v.Text) || late(v.Inbound, now) {
		return scheduler.Submission{}, false
	}
	if _, command := v.typed(); command || strings.TrimSpace(v.Text) == "" && len(v.Files) == 0 {
		return scheduler.Submission{}, false
	}
	sub := scheduler.Submission{Event: v.ID, Author: v.Person, Place: v.Place, Text: v.request(), Message: v.Message, Attachments: v.Files, Entered: v.entered()}
	switch {
	case v.replied != "":
		sub.Session = v.replied
	case v.bound != "":
		sub.Session = v.bound
	default:
		sub.New = &scheduler.NewSession{Workspace: d.workspace(v), Bind: true, Join: true}
	}
	return sub, true
}

// meant reports whether a message is meant for the bot: it was addressed, or it stands in a thread of the bot's whose owner, or everyone, is heard.
func (d *Desk) meant(v *visit) bool {
	if v.ToOther {
		return false
	}
	if v.Addressed || v.Place.Private || v.replied != "" {
		return true
	}
	replies := "owner"
	if d.cfg.At != nil {
		if _, r := d.cfg.At(v.Place); r != "" {
			replies = r
		}
	}
	return v.Place.Thread != "" && v.bound != "" && (replies == "everyone" || replies == "owner" && v.owner == v.Person)
}

// workspace is where a new session at the place works.
func (d *Desk) workspace(v *visit) string {
	if d.cfg.At != nil {
		if ws, _ := d.cfg.At(v.Place); ws != "" {
			return ws
		}
	}
	return d.cfg.Workspaces[0].Name
}

// accepted tells the author what became of a prompt, where that is not obvious.
func (d *Desk) accepted(ctx context.Context, v *visit, a scheduler.Accepted) {
	switch {
	case a.Err != nil:
		v.say(saysError, escape(trim(a.Err)))
	case a.Duplicate:
	case a.Ahead > 0:
		d.interrupt(ctx, v, a)
		if d.react(ctx, v, "queued") {
			return
		}
		v.say(saysQueued, a.Ahead, named(a.Session))
	case v.bound != "" && v.bound == a.Session.ID && v.Place.Private && v.Place.Thread == "" && !v.caps.Lines:
		d.whichSession(ctx, v, a)
	case v.caps.Lines:
		v.say(saysOpened, a.Session.Ref, a.Prompt.Ref, escape(scheduler.Title("", a.Prompt.Text)))
	}
	d.answer(ctx, v)
}

// answer queues what is to be said, behind what others are told.
func (d *Desk) answer(ctx context.Context, v *visit) {
	if len(v.out) == 0 {
		return
	}
	r := reply{adapter: v.adapter}
	if v.Place.Channel == "" { // a person's own page, which takes no messages
		r.direct = v.Person
	}
	for _, p := range v.out {
		ms := d.cfg.messages(p, v.caps, v.Place)
		for i := range ms {
			ms[i].Callback = v.Callback
			if v.Kind != core.InJoined && (!p.open || v.Place.Private) { // the welcome is for everybody
				ms[i].Only = v.Person
			}
		}
		r.messages = append(r.messages, ms...)
	}
	v.out = nil
	d.queue(ctx, r)
}

// act does what is no prompt.
func (d *Desk) act(ctx context.Context, v *visit) error {
	command, isCommand := v.typed()
	switch {
	case v.Bot:
		return nil
	case v.Kind == core.InHome:
		return d.home(ctx, v)
	case v.Kind == core.InPress, v.Kind == core.InForm:
		return d.pressed(ctx, v)
	case v.Kind == core.InMessage && isStop(v.Text) && d.meant(v):
		return d.command(ctx, v, Command{Name: "stop"})
	case v.Kind == core.InAbout:
		return d.about(ctx, v)
	case v.Kind == core.InCommand:
		c, ok := Parse(v.Text)
		if !ok {
			d.unknown(v, c)
			return nil
		}
		return d.inTime(ctx, v, c)
	case isCommand:
		return d.inTime(ctx, v, command)
	case v.Kind == core.InMessage && v.role < access.Operator && (v.Addressed || v.Place.Private):
		return d.stranger(ctx, v)
	case v.Kind == core.InMessage && d.meant(v) && v.role >= access.Operator && late(v.Inbound, d.s.Now()) && worthAsking(v):
		return d.askLate(ctx, v, "")
	case v.Kind == core.InEdit, v.Kind == core.InDelete:
		return d.changed(ctx, v)
	case v.Kind == core.InMoved && v.bound != "":
		var b state.Batch
		b.Put(state.BindKey(v.MovedTo), scheduler.Binding{Session: v.bound}, 0)
		_, err := b.Commit(ctx, d.cfg.Store)
		return err
	case v.Kind == core.InJoined:
		v.out = append(v.out, d.welcome(v))
	case v.Kind == core.InLeft:
		return d.left(ctx, v)
	}
	return nil
}

// changed follows a message that its author changed or took back: a prompt that has not begun follows it, one that has does not.
func (d *Desk) changed(ctx context.Context, v *visit) error {
	seen, _, err := state.Get[scheduler.Seen](ctx, d.cfg.Store, state.EventKey(v.Original))
	if err != nil || seen.Value.Prompt == "" {
		return err
	}
	p, _, err := d.s.Prompt(ctx, seen.Value.Prompt)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil
	case err != nil:
		return err
	case p.Author != v.Person || v.Kind == core.InEdit && p.Text == v.Text:
		return nil
	}
	if v.Kind == core.InDelete {
		if p.State == core.Queued && p.Started.IsZero() {
			_, err = d.s.Cancel(ctx, p.ID, v.Person)
		}
	} else {
		_, err = d.s.Edit(ctx, p.ID, v.Person, v.Text)
	}
	if personal(err) {
		v.say("%s", escape(trim(err)))
		return nil
	}
	return err
}

func (d *Desk) unknown(v *visit, c Command) {
	text := fmt.Sprintf(saysNoCommand, code(cutRunes(c.Name, 40)))
	if n := nearest(c.Name); n != "" {
		text += fmt.Sprintf(saysNearest, v.caps.Slash, n)
	}
	v.say("%s", text+fmt.Sprintf(saysSeeHelp, v.caps.Slash))
}

func (d *Desk) welcome(v *visit) page {
	text := fmt.Sprintf(saysWelcome, code(d.workspace(v)), v.caps.Slash, v.caps.Slash)
	if d.cfg.Demo {
		text += saysDemo
	}
	return page{text: text}
}

// trim takes the sentinel's word off the front of an error that is meant for people.
func trim(err error) string {
	text := err.Error()
	for _, s := range []error{core.ErrRefused, core.ErrForbidden, core.ErrDecided, core.ErrNotFound} {
		text = strings.TrimPrefix(text, s.Error()+": ")
	}
	return text
}

// plain is named for errors, whose markup is made literal.
func plain(s core.Session) string { return string(s.Ref) + " " + s.Title }

// named is a session as people read it: its ref and its title, always together.
func named(s core.Session) string { return code(string(s.Ref)) + " " + escape(s.Title) }
