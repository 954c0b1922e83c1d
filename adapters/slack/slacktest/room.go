package slacktest

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// Person is somebody who uses Slack.
type Person struct {
	ID   string
	Team string
	Name string
	Bot  string // bot_id: a program
}

// The people.
var (
	Ann = Person{ID: "U0ANN00001", Team: Team, Name: "Ann"}
	Bob = Person{ID: "U0BOB00001", Team: Team, Name: "Bob"}
	Rob = Person{ID: "U0ROB00001", Team: Team, Name: "Rob", Bot: "B0ROB00001"}
	Eve = Person{ID: "U0EVE00001", Team: OtherTeam, Name: "Eve"} // of another company
)

func people() []Person {
	return []Person{Ann, Bob, Rob, Eve, {ID: BotUser, Team: Team, Name: "paragents", Bot: BotID}}
}

// room is a channel or a conversation.
type room struct {
	id       string
	archived bool
	here     bool   // the bot is a member
	with     string // whose conversation with the bot it is
	messages []*Message
}

// Message is one message, as the platform keeps it.
type Message struct {
	TS       string
	Thread   string // thread_ts; empty for one that stands at the top
	Author   Person
	Text     string // in the platform's form
	Blocks   []Block
	Metadata json.RawMessage
	File     *File
	Only     string   // user who alone sees it
	Marks    []string // reactions
	Edited   string   // time stamp
	unfurls  bool
}

// File is a file in a message.
type File struct {
	ID   string
	Name string
	Type string
	Data []byte
}

// Block is a block, as far as the bot uses them.
type Block struct {
	Type     string      `json:"type"`
	ID       string      `json:"block_id,omitempty"`
	Text     blockText   `json:"text,omitzero"`
	Elements []blockItem `json:"elements,omitempty"`
}

// blockText is a string in a markdown block, and an object elsewhere.
type blockText struct {
	Type string
	Text string
}

type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (t *blockText) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &t.Text)
	}
	var o textObject
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	*t = blockText(o)
	return nil
}

func (t blockText) MarshalJSON() ([]byte, error) {
	if t.Type == "" {
		return json.Marshal(t.Text)
	}
	return json.Marshal(textObject(t))
}

type blockItem struct {
	Type  string     `json:"type"`
	ID    string     `json:"action_id,omitempty"`
	Text  textObject `json:"text"`
	Value string     `json:"value,omitempty"`
	Style string     `json:"style,omitempty"`
	URL   string     `json:"url,omitempty"`
}

// Shown is what a person reads. Markdown is not rendered.
func (m Message) Shown() string {
	if len(m.Blocks) == 0 {
		return html.UnescapeString(m.Text)
	}
	var out []string
	for _, b := range m.Blocks {
		switch {
		case b.Type == "actions":
		case b.Text.Type == "plain_text":
			out = append(out, b.Text.Text)
		default:
			out = append(out, html.UnescapeString(b.Text.Text))
		}
	}
	return strings.Join(out, "\n")
}

// Buttons are the labels, row by row.
func (m Message) Buttons() [][]string {
	var out [][]string
	for _, b := range m.Blocks {
		if b.Type != "actions" {
			continue
		}
		var row []string
		for _, e := range b.Elements {
			row = append(row, e.Text.Text)
		}
		out = append(out, row)
	}
	return out
}

// Pings reports whether somebody is notified by what stands in the message.
func (m Message) Pings() bool {
	texts := []string{m.Text}
	for _, b := range m.Blocks {
		if b.Text.Type != "plain_text" {
			texts = append(texts, b.Text.Text)
		}
	}
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, "<!") || strings.Contains(t, "<@") })
}

// Channel makes a public channel with the bot in it, and returns its id.
func (s *Server) Channel() string { return s.room("C") }

// Direct makes a conversation of one person with the bot.
func (s *Server) Direct() string { return s.room("D") }

func (s *Server) room(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.number(kind + "0")
	s.channels[id] = &room{id: id, here: true}
	return id
}

// DirectOf gives the conversation that the bot opened with a person, empty when it opened none.
func (s *Server) DirectOf(p Person) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.directOf(p.ID)
}

func (s *Server) directOf(user string) string {
	for id, r := range s.channels {
		if r.with == user {
			return id
		}
	}
	return ""
}

// openDirect finds or makes the conversation with a person.
func (s *Server) openDirect(req request) (any, *refusal) {
	user := req.args["users"]
	if !slices.ContainsFunc(people(), func(p Person) bool { return p.ID == user }) {
		return nil, no("user_not_found")
	}
	id := s.directOf(user)
	if id == "" {
		id = s.number("D0")
		s.channels[id] = &room{id: id, here: true, with: user}
	}
	return struct {
		answer
		Channel idObject `json:"channel"`
	}{answer{OK: true}, idObject{ID: id}}, nil
}

// Archive archives a channel.
func (s *Server) Archive(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channel].archived = true
}

// Lose takes the bot out of a channel without telling it.
func (s *Server) Lose(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channel].here = false
}

// Join puts the bot into a channel without telling it.
func (s *Server) Join(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channel].here = true
}

// Messages lists what stands in a thread, or at the top of a channel without one, oldest first: what everybody sees, and what only some person does.
func (s *Server) Messages(channel, thread string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.channels[channel].messages {
		if m.Thread == thread {
			out = append(out, *m)
		}
	}
	return out
}

// Await waits until a message is there that fits.
func (s *Server) Await(channel, thread string, fits func(Message) bool) Message {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var found Message
	s.await("a message in "+channel, func() bool {
		for _, m := range s.channels[channel].messages {
			if m.Thread == thread && fits(*m) {
				found = *m
				return true
			}
		}
		return false
	})
	return found
}

// number makes an id; s.mu is held.
func (s *Server) number(prefix string) string {
	s.next++
	return fmt.Sprintf("%s%07d", prefix, s.next)
}

// stamp makes a time stamp, later than all before; s.mu is held.
func (s *Server) stamp() string {
	s.last = max(s.last+100, time.Now().UnixMicro())
	return stampOf(s.last)
}

func stampOf(micros int64) string { return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6) }

func (r *room) find(ts string) *Message {
	i := slices.IndexFunc(r.messages, func(m *Message) bool { return m.TS == ts })
	if i < 0 {
		return nil
	}
	return r.messages[i]
}

// reach gives a channel that the bot can use, or says why not; s.mu is held.
func (s *Server) reach(channel string) (*room, *refusal) {
	r := s.channels[channel]
	switch {
	case r == nil:
		return nil, no("channel_not_found")
	case !r.here:
		return nil, no("not_in_channel")
	}
	return r, nil
}
