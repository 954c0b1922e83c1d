package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"paragents/core"
)

// inbound makes a payload of the given type events. It gives none for what means nothing to the bot, and an error for what has another form than it
// should; neither will be different when it comes again.
func (a *Adapter) inbound(kind string, payload []byte, me account) ([]core.Inbound, error) {
	d := decoder{me: me, ours: a.ours}
	switch kind {
	case typeEvent:
		var outer eventCallback
		if err := json.Unmarshal(payload, &outer); err != nil {
			return nil, err
		}
		return d.event(outer.Event)
	case typePress:
		var p interaction
		if err := json.Unmarshal(payload, &p); err != nil {
			return nil, err
		}
		return d.interaction(p), nil
	case typeCommand:
		var c command
		if err := json.Unmarshal(payload, &c); err != nil {
			return nil, err
		}
		return d.command(c), nil
	}
	return nil, nil
}

// decoder turns the platform's types into events for one account.
type decoder struct {
	me   account
	ours func(address string) bool
}

func (d decoder) event(raw []byte) ([]core.Inbound, error) {
	var h head
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, err
	}
	switch h.Type {
	case "message", "app_mention":
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		if m.Channel == "" {
			return nil, fmt.Errorf("a %s without a channel", h.Type)
		}
		return one(d.message(m)), nil
	case "app_home_opened":
		var h opened
		if err := json.Unmarshal(raw, &h); err != nil {
			return nil, err
		}
		return one(d.home(h)), nil
	case "member_joined_channel", "channel_left", "group_left":
		var m member
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		return one(d.member(m)), nil
	}
	return nil, nil
}

func one(e core.Inbound, ok bool) []core.Inbound {
	if !ok {
		return nil
	}
	return []core.Inbound{e}
}

// message takes a message event. What the bot wrote itself says nothing new.
func (d decoder) message(m message) (core.Inbound, bool) {
	switch m.Subtype {
	case "message_changed":
		if m.New == nil || d.own(*m.New) {
			return core.Inbound{}, false
		}
		n := *m.New
		n.Channel = m.Channel
		if n.Subtype == "tombstone" { // a deleted message that has replies
			if m.Old != nil {
				n.User, n.Team, n.UserTeam, n.SourceTeam = m.Old.User, m.Old.Team, m.Old.UserTeam, m.Old.SourceTeam
			}
			return d.deleted(n, m.EventTS), true
		}
		if m.Old != nil && m.Old.Text == n.Text {
			return core.Inbound{}, false // an unfurled link, a reaction of the platform's
		}
		if n.Edited == nil {
			n.Edited = &edited{TS: m.EventTS}
		}
		return d.edit(n), true
	case "message_deleted":
		if m.Old == nil || d.own(*m.Old) {
			return core.Inbound{}, false
		}
		o := *m.Old
		o.Channel, o.TS = m.Channel, cmp.Or(m.DeletedTS, o.TS)
		return d.deleted(o, m.EventTS), true
	}
	if m.Edited != nil { // a mention is announced once more when its message was edited
		if d.own(m) {
			return core.Inbound{}, false
		}
		return d.edit(m), true
	}
	return d.written(m)
}

// written takes a message as it was written, from an event or from the history.
func (d decoder) written(m message) (core.Inbound, bool) {
	switch m.Subtype {
	case "", "file_share", "thread_broadcast", "me_message", "bot_message":
	default:
		return core.Inbound{}, false // somebody joined, a topic was set, …
	}
	if d.own(m) || m.TS == "" {
		return core.Inbound{}, false
	}
	e := d.about(m)
	e.Kind = core.InMessage
	e.Files = attachments(m.Files)
	return e, true
}

// attachments lists the files that can be fetched.
func attachments(files []file) []core.Attachment {
	var out []core.Attachment
	for _, f := range files {
		if f.ID != "" && f.Mode != "tombstone" && f.Mode != "hidden_by_limit" {
			out = append(out, core.Attachment{ID: f.ID, Name: cmp.Or(f.Name, f.Title, "file"), Type: f.Type, Size: f.Size})
		}
	}
	return out
}

func (d decoder) edit(m message) core.Inbound {
	e := d.about(m)
	e.Kind, e.Original = core.InEdit, e.ID
	e.ID += "/edit/" + m.Edited.TS
	e.At = at(cmp.Or(m.Edited.TS, m.TS))
	return e
}

func (d decoder) deleted(m message, ts string) core.Inbound {
	e := d.about(m)
	e.Kind, e.Original, e.Text, e.Addressed, e.ToOther = core.InDelete, e.ID, "", false, false
	e.ID += "/delete"
	e.At = at(cmp.Or(ts, m.TS))
	return e
}

// about fills in what every kind of message has.
func (d decoder) about(m message) core.Inbound {
	e := core.Inbound{
		ID:      d.id(m.Channel, m.TS),
		Place:   d.place(m.Channel, m.TS, m.Thread),
		Person:  d.person(cmp.Or(m.UserTeam, m.Team, m.SourceTeam), m.User),
		Name:    cmp.Or(m.User, m.Username, m.Profile.Name),
		Message: m.TS,
		At:      at(m.TS),
		Bot:     m.BotID != "" || m.AppID != "" || m.Subtype == "bot_message" || m.User == "" || m.User == "USLACKBOT",
	}
	var mine bool
	e.Text, mine, e.ToOther = readable(m.Text, d.me.User)
	e.Addressed = mine || e.Place.Private || m.Type == "app_mention"
	return e
}

func (d decoder) own(m message) bool {
	return m.User != "" && m.User == d.me.User || m.BotID != "" && m.BotID == d.me.Bot
}

// member takes the coming and going of the bot itself.
func (d decoder) member(m member) (core.Inbound, bool) {
	by := m.Inviter
	kind := core.InJoined
	if m.Type != "member_joined_channel" {
		kind, by = core.InLeft, m.Actor
	}
	if m.Channel == "" || kind == core.InJoined && m.User != d.me.User {
		return core.Inbound{}, false
	}
	e := core.Inbound{ID: d.id(m.Channel, string(kind), m.EventTS), Kind: kind, Place: d.place(m.Channel, "", ""), At: at(m.EventTS)}
	if by != "" {
		e.Person, e.Name = d.person("", by), by
	}
	return e, true
}

// interaction takes presses, in messages and on a person's own page, forms that were filled in, and the message shortcut.
func (d decoder) interaction(p interaction) []core.Inbound {
	channel := cmp.Or(p.Container.Channel, p.Channel.ID)
	team := p.User.Team
	if p.Team != nil {
		team = cmp.Or(team, p.Team.ID)
	}
	e := core.Inbound{Person: d.person(team, p.User.ID), Name: cmp.Or(p.User.Name, p.User.Nick, p.User.ID), Addressed: true}
	switch {
	case p.User.ID == "":
		return nil
	case p.Type == "view_submission" && p.View != nil:
		return d.filled(p, e)
	case p.Type == "block_actions" && channel == "" && p.View != nil && p.View.Type == "home":
		e.Kind, e.Place, e.Message, e.Callback = core.InPress, d.nowhere(), p.View.ID, d.callback("", "", p.Trigger, false)
		return d.presses(p, e)
	case channel == "":
		return nil
	case p.Type == "message_action" && p.CallbackID == shortcut && p.Message != nil && p.Message.TS != "":
		m := *p.Message
		m.Channel = channel
		about := d.about(m)
		about.Kind, about.Files = core.InMessage, attachments(m.Files)
		e.Kind, e.Place, e.Message, e.About = core.InAbout, about.Place, m.TS, &about
		e.Callback = d.callback(p.Response, about.Place.Thread, p.Trigger, false)
		e.ID, e.At = d.id(channel, m.TS, "shortcut", cmp.Or(p.ActionTS, p.Trigger)), at(p.ActionTS)
		return []core.Inbound{e}
	case p.Type != "block_actions":
		return nil
	}
	e.Kind, e.Message = core.InPress, p.Container.Message
	thread := p.Container.Thread
	if p.Message != nil {
		e.Message, thread = cmp.Or(e.Message, p.Message.TS), cmp.Or(thread, p.Message.Thread)
	}
	if thread == e.Message { // a message that has replies carries its own id here; it stands where it was sent
		thread = ""
	}
	e.Place = core.Place{Platform: platform, Space: d.me.Team, Channel: channel, Thread: thread, Private: private(channel)}
	e.Callback = d.callback(p.Response, thread, p.Trigger, p.Container.Ephemeral)
	return d.presses(p, e)
}

// presses makes an event of each button that was pressed.
func (d decoder) presses(p interaction, e core.Inbound) []core.Inbound {
	var out []core.Inbound
	for _, x := range p.Actions {
		if x.Value == "" {
			continue
		}
		e.Token = x.Value
		e.ID, e.At = d.id("press", e.Place.Channel, e.Message, p.User.ID, x.ID, cmp.Or(x.TS, p.Trigger)), at(x.TS)
		out = append(out, e)
	}
	return out
}

// command takes a slash command. The platform gives it no time: At stays zero.
func (d decoder) command(c command) []core.Inbound {
	if c.Channel == "" || c.User == "" {
		return nil
	}
	return []core.Inbound{{
		ID:        d.id("command", cmp.Or(c.Trigger, c.Response)),
		Kind:      core.InCommand,
		Place:     core.Place{Platform: platform, Space: d.me.Team, Channel: c.Channel, Private: private(c.Channel)},
		Person:    d.person(c.Team, c.User),
		Name:      cmp.Or(c.UserName, c.User),
		Text:      strings.TrimSpace(entities.Replace(c.Text)),
		Callback:  d.callback(c.Response, "", c.Trigger, false),
		Addressed: true,
	}}
}

// id names an event by what the platform calls it, never by the envelope: that of one message differs from delivery to delivery.
func (d decoder) id(parts ...string) string {
	return platform + ":" + d.me.Team + "/" + strings.Join(parts, "/")
}

// person is keyed by team and user: in shared channels people of other companies write.
func (d decoder) person(team, user string) core.Person {
	if user == "" {
		return ""
	}
	return core.Person(platform + ":" + cmp.Or(team, d.me.Team) + "/" + user)
}

// place is where a message stands. At the top of a channel that is the thread which its replies will make: they belong to the same session. A private
// conversation is one place, but for the threads in it.
func (d decoder) place(channel, ts, thread string) core.Place {
	p := core.Place{Platform: platform, Space: d.me.Team, Channel: channel, Thread: thread, Private: private(channel)}
	switch {
	case p.Private && thread == ts:
		p.Thread = ""
	case !p.Private && thread == "":
		p.Thread = ts
	}
	return p
}

func private(channel string) bool { return strings.HasPrefix(channel, "D") }

// at reads a time stamp of the platform: seconds and microseconds.
func at(ts string) time.Time {
	s, micros, _ := strings.Cut(ts, ".")
	sec, err := strconv.ParseInt(s, 10, 64)
	if err != nil || sec <= 0 {
		return time.Time{}
	}
	us, err := strconv.ParseInt((micros + "000000")[:6], 10, 64)
	if err != nil {
		us = 0
	}
	return time.Unix(sec, us*1000).UTC()
}

// A callback is what answering a press or command needs: whether the pressed message is seen by the presser alone, its thread, what a form can be shown with, and the
// address.
func (d decoder) callback(address, thread, trigger string, ephemeral bool) string {
	if !d.ours(address) {
		address = ""
	}
	if address == "" && trigger == "" {
		return ""
	}
	kind := "note"
	if ephemeral {
		kind = "replace"
	}
	return strings.Join([]string{kind, thread, trigger, address}, " ")
}

// triggerOf is what a form can be shown with, "" where there is none.
func triggerOf(callback string) string {
	if f := strings.Split(callback, " "); len(f) == 4 {
		return f[2]
	}
	return ""
}
