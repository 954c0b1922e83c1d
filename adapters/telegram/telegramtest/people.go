package telegramtest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// User is a person or a bot.
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username,omitempty"`
}

// People to act as.
var (
	Ann = User{ID: 101, FirstName: "Ann", Username: "ann_lee"}
	Bob = User{ID: 102, FirstName: "Bob", Username: "bob_ray"}
	Rob = User{ID: 103, IsBot: true, FirstName: "Rob", Username: "other_bot"} // another bot
)

var us = User{ID: BotID, IsBot: true, FirstName: "Ours", Username: BotName}

// Post is a message that a person writes.
type Post struct {
	Chat     int64
	Thread   int64 // of a topic; 0: the chat itself, or General
	From     User
	Text     string // under a file: its caption
	Mentions []User // of those without a user name, by first name in the text
	ReplyTo  int64
	Album    string
	File     *Upload
	ViaBot   *User
	AsChat   bool // by an anonymous admin
}

// Private makes, or finds, the chat of one person with the bot.
func (s *Server) Private(u User) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats[u.ID] == nil {
		s.chats[u.ID] = newRoom(wireChat{ID: u.ID, Type: "private", FirstName: u.FirstName, Username: u.Username})
	}
	return u.ID
}

// Group makes a group that the bot is in. The kind is group, supergroup or forum.
func (s *Server) Group(kind, title string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextChat++
	c := wireChat{ID: -s.nextChat, Type: kind, Title: title}
	if kind != "group" {
		c.ID -= 1_000_000_000_000
	}
	if kind == "forum" {
		c.Type, c.IsForum = "supergroup", true
	}
	s.chats[c.ID] = newRoom(c)
	return c.ID
}

// Topic opens a topic in a forum, as a person does.
func (s *Server) Topic(chat int64, by User, name string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.topicLocked(s.roomLocked(chat), by, name)
}

func (s *Server) topicLocked(r *room, by User, name string) int64 {
	m := r.add(&stored{from: by, topicName: name})
	m.Thread = m.ID
	r.topics[m.ID] = name
	if by.ID != BotID {
		s.pushLocked("message", r.wire(m, true))
	}
	return m.ID
}

// DropTopic deletes a topic.
func (s *Server) DropTopic(chat, thread int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.roomLocked(chat).topics, thread)
}

func (s *Server) roomLocked(chat int64) *room {
	r := s.chats[chat]
	if r == nil {
		s.t.Errorf("there is no chat %d", chat)
		r = newRoom(wireChat{ID: chat})
	}
	return r
}

// Post writes a message and returns its id.
func (s *Server) Post(p Post) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roomLocked(p.Chat)
	m := r.add(&stored{
		Message: Message{Thread: p.Thread, Text: p.Text, ReplyTo: p.ReplyTo, File: p.File},
		from:    p.From, ents: entitiesOf(p.Text, p.Mentions), album: p.Album, viaBot: p.ViaBot, asChat: p.AsChat,
	})
	if p.File != nil {
		m.fileID = s.storeLocked(*p.File)
	}
	if !s.privacy || r.chat.Type == "private" || s.meantLocked(r, m) {
		s.pushLocked("message", r.wire(m, true))
	}
	return m.ID
}

// meantLocked is what a bot in privacy mode still gets.
func (s *Server) meantLocked(r *room, m *stored) bool {
	if to := r.find(m.ReplyTo); to != nil && to.from.ID == BotID {
		return true
	}
	c := commands.FindStringSubmatch(m.Text)
	return c != nil && (c[2] == "" || strings.EqualFold(c[2], "@"+BotName))
}

// Edit changes the text of a person's message.
func (s *Server) Edit(chat, message int64, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roomLocked(chat)
	m := r.find(message)
	if m == nil {
		s.t.Errorf("edit: there is no message %d in chat %d", message, chat)
		return
	}
	m.Text, m.ents = text, entitiesOf(text, nil)
	m.Edits++
	m.edited = time.Now()
	s.pushLocked("edited_message", r.wire(m, true))
}

// Delete removes a message. The platform does not tell bots.
func (s *Server) Delete(chat, message int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roomLocked(chat).remove(message)
}

// press is a button press that may be answered.
type press struct {
	answered bool
	text     string
}

// Press presses the button with a label under a message and returns the press's id. It is an error of the test when there is none.
func (s *Server) Press(u User, chat, message int64, label string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roomLocked(chat)
	m := r.find(message)
	if m == nil {
		s.t.Errorf("press %q: there is no message %d in chat %d", label, message, chat)
		return ""
	}
	for _, row := range m.Keyboard {
		for _, b := range row {
			if b.Text == label {
				s.nextPress++
				id := strconv.Itoa(880000 + s.nextPress)
				s.presses[id] = &press{}
				s.pushLocked("callback_query", callback{ID: id, From: u, Message: r.wire(m, true), Instance: "1", Data: b.Data})
				return id
			}
		}
	}
	s.t.Errorf("press: message %d has no button %q", message, label)
	return ""
}

type callback struct {
	ID       string       `json:"id"`
	From     User         `json:"from"`
	Message  *wireMessage `json:"message"`
	Instance string       `json:"chat_instance"`
	Data     string       `json:"data"`
}

// Answered tells whether a press was answered, and with which note.
func (s *Server) Answered(id string) (note string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.presses[id]
	if p == nil {
		return "", false
	}
	return p.text, p.answered
}

type memberUpdate struct {
	Chat wireChat `json:"chat"`
	From User     `json:"from"`
	Date int64    `json:"date"`
	Old  member   `json:"old_chat_member"`
	New  member   `json:"new_chat_member"`
}

type member struct {
	User   User   `json:"user"`
	Status string `json:"status"`
	Until  *int64 `json:"until_date,omitempty"`
}

// SetMember makes the bot member, administrator, left or kicked; in a private chat, kicked is blocked.
func (s *Server) SetMember(chat int64, by User, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roomLocked(chat)
	old := r.status
	r.status = status
	s.pushLocked("my_chat_member", memberUpdate{r.chat, by, time.Now().Unix(), wireMember(old), wireMember(status)})
}

func wireMember(status string) member {
	m := member{User: us, Status: status}
	if status == "kicked" {
		m.Until = new(int64)
	}
	return m
}

// Migrate makes a group a supergroup and returns its new id; calls to the old one are refused with it.
func (s *Server) Migrate(chat int64, by User) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.roomLocked(chat)
	next := chat - 1_000_000_000_000
	now := newRoom(wireChat{ID: next, Type: "supergroup", Title: old.chat.Title})
	s.chats[next] = now
	old.movedTo = next
	s.pushLocked("message", old.wire(old.add(&stored{from: by, migrateTo: next}), true))
	s.pushLocked("message", now.wire(now.add(&stored{from: by, migrateFrom: chat}), true))
	return next
}

// Flood makes the chat refuse every call for a while, and say how long.
func (s *Server) Flood(chat int64, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roomLocked(chat).floodUntil = time.Now().Add(d)
}

// Messages lists what a person sees in a chat, oldest first.
func (s *Server) Messages(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.roomLocked(chat).messages {
		c := m.Message
		c.FromBot = m.from.ID == BotID
		c.Keyboard = slices.Clone(m.Keyboard)
		out = append(out, c)
	}
	return out
}

// Menu is the JSON of the commands set for a scope, itself JSON.
func (s *Server) Menu(scope string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.menus[scope]
}

var (
	commands = regexp.MustCompile(`(^|\s)/[A-Za-z0-9_]{1,64}(@[A-Za-z0-9_]{3,32})?\b`)
	mentions = regexp.MustCompile(`(^|[^\w/@])(@[A-Za-z][A-Za-z0-9_]{3,31})\b`)
)

// entitiesOf finds what the platform finds in a person's text.
func entitiesOf(text string, people []User) []Entity {
	var out []Entity
	add := func(kind string, from, to int, u *User) {
		out = append(out, Entity{Type: kind, Offset: units(text[:from]), Length: units(text[from:to]), User: u})
	}
	for _, m := range commands.FindAllStringSubmatchIndex(text, -1) {
		add("bot_command", m[3], m[1], nil)
	}
	for _, m := range mentions.FindAllStringSubmatchIndex(text, -1) {
		add("mention", m[4], m[5], nil)
	}
	for _, u := range people {
		if i := strings.Index(text, u.FirstName); i >= 0 {
			add("text_mention", i, i+len(u.FirstName), &u)
		}
	}
	slices.SortFunc(out, func(a, b Entity) int { return a.Offset - b.Offset })
	return out
}
