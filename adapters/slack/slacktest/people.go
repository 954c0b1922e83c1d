package slacktest

import (
	"cmp"
	"html"
	"slices"
	"strings"
	"time"
)

// callback is the payload around an event.
type callback struct {
	Token   string        `json:"token"`
	Team    string        `json:"team_id"`
	App     string        `json:"api_app_id"`
	Event   any           `json:"event"`
	Type    string        `json:"type"`
	ID      string        `json:"event_id"`
	Time    int64         `json:"event_time"`
	Authors []authorizing `json:"authorizations"`
}

type authorizing struct {
	Team string `json:"team_id"`
	User string `json:"user_id"`
	Bot  bool   `json:"is_bot"`
}

// emit tells the app of an event; s.mu is held.
func (s *Server) emit(event any) {
	s.enqueue("events_api", callback{
		Token: "x", Team: Team, App: AppID, Event: event, Type: "event_callback", ID: s.number("Ev"), Time: s.last / 1e6,
		Authors: []authorizing{{Team, BotUser, true}},
	}, true)
}

func kindOf(channel string) string {
	if channel[0] == 'D' {
		return "im"
	}
	return "channel"
}

// write puts a message where it belongs and tells the app: of a mention twice; s.mu is held.
func (s *Server) write(r *room, m *Message) {
	r.messages = append(r.messages, m)
	s.changed.Broadcast()
	if !r.here {
		return
	}
	w := s.wire(m, r.id)
	w.Channel, w.Kind, w.EventTS = r.id, kindOf(r.id), m.TS
	s.emit(w)
	if r.id[0] != 'D' && strings.Contains(m.Text, "<@"+BotUser+">") {
		mention := *w
		mention.Type, mention.Subtype, mention.Kind = "app_mention", "", ""
		s.emit(&mention)
	}
}

// emitChanged tells of a changed message; s.mu is held.
func (s *Server) emitChanged(r *room, old, changed *Message) {
	s.changed.Broadcast()
	s.emit(&wire{
		Type: "message", Subtype: "message_changed", Channel: r.id, Kind: kindOf(r.id), TS: s.stamp(), EventTS: s.stamp(), Hidden: true,
		New: s.wire(changed, r.id), Old: s.wire(old, r.id),
	})
}

// Post is something to write.
type Post struct {
	Channel string
	Thread  string
	By      Person
	Text    string // as typed; mentions in front of it by Mention
	Mention Person // the zero Person: nobody
	File    *File
	Source  string        // source_team, where the channel is hosted by others
	Ago     time.Duration // when it was written; earlier than what stands there already, if that has to be
}

// Bot is whom a mention of the app names.
func Bot() Person { return Person{ID: BotUser, Team: Team} }

// Say writes a message and returns its id.
func (s *Server) Say(p Post) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &Message{TS: s.stamp(), Thread: p.Thread, Author: p.By, Text: html.EscapeString(p.Text)}
	if p.Ago > 0 {
		m.TS = stampOf(time.Now().Add(-p.Ago).UnixMicro())
	}
	m.Text = strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(m.Text)
	if p.Mention.ID != "" {
		m.Text = "<@" + p.Mention.ID + "> " + m.Text
	}
	if p.File != nil {
		f := s.store(p.File.Name, cmp.Or(p.File.Type, "application/octet-stream"), p.File.Data)
		m.File = &f.File
	}
	s.write(s.channels[p.Channel], m)
	return m.TS
}

// Raw makes the app hear an event of any form.
func (s *Server) Raw(event any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(event)
}

// Change edits a person's message; a mention in it is announced again.
func (s *Server) Change(channel, ts, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.channels[channel]
	m := r.find(ts)
	old := *m
	m.Edited = s.stamp()
	if mention := "<@" + BotUser + "> "; strings.HasPrefix(old.Text, mention) {
		text = mention + text
	}
	m.Text = text
	s.emitChanged(r, &old, m)
	if channel[0] != 'D' && strings.Contains(m.Text, "<@"+BotUser+">") {
		w := s.wire(m, channel)
		w.Type, w.Channel, w.EventTS = "app_mention", channel, s.stamp()
		s.emit(w)
	}
}

// Remove deletes a message. One with replies stays as a tombstone.
func (s *Server) Remove(channel, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.channels[channel]
	m := r.find(ts)
	old := s.wire(m, channel)
	e := &wire{Type: "message", Channel: channel, Kind: kindOf(channel), TS: s.stamp(), EventTS: s.stamp(), Hidden: true, Old: old}
	r.messages = slices.DeleteFunc(r.messages, func(x *Message) bool { return x == m })
	s.changed.Broadcast()
	if old.Thread == ts {
		e.Subtype = "message_changed"
		e.New = &wire{Type: "message", Subtype: "tombstone", TS: ts, Thread: ts, Text: "This message was deleted.", User: "USLACKBOT"}
	} else {
		e.Subtype, e.Deleted = "message_deleted", ts
	}
	s.emit(e)
}

type membership struct {
	Type    string `json:"type"`
	User    string `json:"user,omitempty"`
	Channel string `json:"channel"`
	Kind    string `json:"channel_type,omitempty"`
	Team    string `json:"team,omitempty"`
	Inviter string `json:"inviter,omitempty"`
	Actor   string `json:"actor_id,omitempty"`
	EventTS string `json:"event_ts"`
}

// Invite brings the bot into a channel.
func (s *Server) Invite(channel string, by Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channel].here = true
	s.emit(membership{Type: "member_joined_channel", User: BotUser, Channel: channel, Kind: "C", Team: Team, Inviter: by.ID, EventTS: s.stamp()})
}

// Expel takes the bot out of a channel.
func (s *Server) Expel(channel string, by Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channel].here = false
	s.emit(membership{Type: "channel_left", Channel: channel, Actor: by.ID, EventTS: s.stamp()})
}

// ready waits until somebody would take an interaction, which is never tried again; s.mu is held.
func (s *Server) ready() {
	s.t.Helper()
	s.await("a socket", func() bool { return s.hook != "" || len(s.sockets) > 0 })
}

// Command types /paragents with a text.
func (s *Server) Command(channel string, by Person, text string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready()
	name := "ops"
	if channel[0] == 'D' {
		name = "directmessage"
	}
	s.enqueue("slash_commands", map[string]string{
		"token": "x", "team_id": by.Team, "team_domain": "ours", "channel_id": channel, "channel_name": name, "user_id": by.ID,
		"user_name": strings.ToLower(by.Name), "command": "/paragents", "text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text),
		"api_app_id": AppID, "is_enterprise_install": "false", "response_url": s.answerTo(channel, by.ID, ""), "trigger_id": s.triggerOf(by.ID),
	}, false)
}

type interaction struct {
	Type      string        `json:"type"`
	User      interactor    `json:"user"`
	App       string        `json:"api_app_id"`
	Token     string        `json:"token"`
	Container *container    `json:"container,omitempty"`
	Trigger   string        `json:"trigger_id"`
	Team      *idObject     `json:"team"`
	Channel   *idObject     `json:"channel,omitempty"`
	Message   *wire         `json:"message,omitempty"`
	Response  string        `json:"response_url,omitempty"`
	Actions   []pressedItem `json:"actions,omitempty"`
	ActionTS  string        `json:"action_ts,omitempty"`
	Callback  string        `json:"callback_id,omitempty"`
	View      *wireView     `json:"view,omitempty"`
}

type interactor struct {
	ID   string `json:"id"`
	Nick string `json:"username"`
	Name string `json:"name"`
	Team string `json:"team_id"`
}

type idObject struct {
	ID     string `json:"id"`
	Domain string `json:"domain,omitempty"`
	Name   string `json:"name,omitempty"`
}

type container struct {
	Type      string `json:"type"`
	Message   string `json:"message_ts,omitempty"`
	Channel   string `json:"channel_id,omitempty"`
	Ephemeral bool   `json:"is_ephemeral,omitempty"`
	Thread    string `json:"thread_ts,omitempty"`
}

type pressedItem struct {
	ID    string     `json:"action_id"`
	Block string     `json:"block_id"`
	Text  textObject `json:"text"`
	Value string     `json:"value"`
	Type  string     `json:"type"`
	TS    string     `json:"action_ts"`
}

// Press presses the button with a label under a message.
func (s *Server) Press(channel string, by Person, ts, label string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready()
	m := s.channels[channel].find(ts)
	if m == nil {
		s.t.Errorf("press %s: no message %s", label, ts)
		return
	}
	for _, b := range m.Blocks {
		for _, e := range b.Elements {
			if e.Text.Text != label {
				continue
			}
			p := s.interaction("block_actions", channel, by, m)
			p.Container = &container{Type: "message", Message: ts, Channel: channel, Ephemeral: m.Only != "", Thread: s.wire(m, channel).Thread}
			p.Actions = []pressedItem{{ID: e.ID, Block: b.ID, Text: e.Text, Value: e.Value, Type: "button", TS: s.stamp()}}
			s.enqueue("interactive", p, false)
			return
		}
	}
	s.t.Errorf("press %s: message %s has no such button", label, ts)
}

// Shortcut uses the message shortcut on a message.
func (s *Server) Shortcut(channel string, by Person, ts string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready()
	p := s.interaction("message_action", channel, by, s.channels[channel].find(ts))
	p.Callback, p.ActionTS = ShortcutID, s.stamp()
	s.enqueue("interactive", p, false)
}

func (s *Server) interaction(kind, channel string, by Person, m *Message) interaction {
	w := s.wire(m, channel)
	return interaction{
		Type: kind, User: interactor{by.ID, strings.ToLower(by.Name), by.Name, by.Team}, App: AppID, Token: "x", Trigger: s.triggerOf(by.ID),
		Team: &idObject{ID: Team, Domain: "ours"}, Channel: &idObject{ID: channel, Name: "ops"}, Message: w, Response: s.answerTo(channel, by.ID, m.TS),
	}
}
