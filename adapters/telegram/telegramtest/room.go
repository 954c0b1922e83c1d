package telegramtest

import (
	"slices"
	"time"
)

// Button is one button under a message.
type Button struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data,omitempty"`
	URL   string `json:"url,omitempty"`
	Style string `json:"style,omitempty"`
}

// Message is one message as people see it.
type Message struct {
	ID       int64
	Thread   int64
	FromBot  bool   // from ours
	Text     string // without markup; of a file: its caption
	Sent     string // as the bot sent it
	Entities []Entity
	Keyboard [][]Button
	ReplyTo  int64
	File     *Upload
	Silent   bool
	Preview  bool // of links
	Edits    int
	Reaction string
}

// stored is a message with what people do not see.
type stored struct {
	Message
	from        User
	ents        []Entity
	album       string
	fileID      string
	viaBot      *User
	asChat      bool
	sent        time.Time
	edited      time.Time
	topicName   string
	migrateTo   int64
	migrateFrom int64
}

// room is one chat.
type room struct {
	chat       wireChat
	status     string // of the bot
	nextID     int64
	messages   []*stored
	topics     map[int64]string
	movedTo    int64
	floodUntil time.Time
}

func newRoom(c wireChat) *room {
	return &room{chat: c, status: "member", nextID: 10, topics: map[int64]string{}}
}

func (r *room) add(m *stored) *stored {
	r.nextID++
	m.ID = r.nextID
	m.sent = time.Now()
	r.messages = append(r.messages, m)
	return m
}

func (r *room) find(id int64) *stored {
	for _, m := range r.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (r *room) remove(id int64) bool {
	n := len(r.messages)
	r.messages = slices.DeleteFunc(r.messages, func(m *stored) bool { return m.ID == id })
	return len(r.messages) < n
}

type wireChat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	Username  string `json:"username,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

type wireMessage struct {
	ID          int64        `json:"message_id"`
	Thread      int64        `json:"message_thread_id,omitempty"`
	InTopic     bool         `json:"is_topic_message,omitempty"`
	From        *User        `json:"from,omitempty"`
	SenderChat  *wireChat    `json:"sender_chat,omitempty"`
	ViaBot      *User        `json:"via_bot,omitempty"`
	Chat        wireChat     `json:"chat"`
	Date        int64        `json:"date"`
	EditDate    int64        `json:"edit_date,omitempty"`
	ReplyTo     *wireMessage `json:"reply_to_message,omitempty"`
	Album       string       `json:"media_group_id,omitempty"`
	Text        string       `json:"text,omitempty"`
	Entities    []Entity     `json:"entities,omitempty"`
	Caption     string       `json:"caption,omitempty"`
	CapEnts     []Entity     `json:"caption_entities,omitempty"`
	Document    *wireFile    `json:"document,omitempty"`
	Video       *wireFile    `json:"video,omitempty"`
	Voice       *wireFile    `json:"voice,omitempty"`
	Photo       []wireFile   `json:"photo,omitempty"`
	Keyboard    *markup      `json:"reply_markup,omitempty"`
	Topic       *topicName   `json:"forum_topic_created,omitempty"`
	MigrateTo   int64        `json:"migrate_to_chat_id,omitempty"`
	MigrateFrom int64        `json:"migrate_from_chat_id,omitempty"`
}

type topicName struct {
	Name  string `json:"name"`
	Color int    `json:"icon_color"`
}

type wireFile struct {
	ID       string `json:"file_id"`
	Unique   string `json:"file_unique_id"`
	Name     string `json:"file_name,omitempty"`
	Type     string `json:"mime_type,omitempty"`
	Size     int64  `json:"file_size,omitempty"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`
	Duration int    `json:"duration,omitempty"`
}

type markup struct {
	Rows [][]Button `json:"inline_keyboard"`
}

// wire is a message in the platform's form, with the message that it answers if deep.
func (r *room) wire(m *stored, deep bool) *wireMessage {
	w := &wireMessage{
		ID: m.ID, From: &m.from, ViaBot: m.viaBot, Chat: r.chat, Date: m.sent.Unix(), Album: m.album,
		MigrateTo: m.migrateTo, MigrateFrom: m.migrateFrom,
	}
	if m.asChat {
		w.From, w.SenderChat = &User{ID: 1087968824, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}, &r.chat
	}
	if !m.edited.IsZero() {
		w.EditDate = m.edited.Unix()
	}
	if m.topicName != "" {
		w.Topic = &topicName{Name: m.topicName, Color: 7322096}
	}
	reply := m.ReplyTo
	switch {
	case m.Thread != 0:
		w.Thread, w.InTopic = m.Thread, true
		if reply == 0 && m.ID != m.Thread {
			reply = m.Thread // every message of a topic hangs on the one that opened it
		}
	case reply != 0 && r.chat.Type == "supergroup" && !r.chat.IsForum:
		w.Thread = reply // a thread of replies is no topic
	}
	if to := r.find(reply); to != nil && deep {
		w.ReplyTo = r.wire(to, false)
	}
	if len(m.Keyboard) > 0 {
		w.Keyboard = &markup{m.Keyboard}
	}
	if m.File == nil {
		w.Text, w.Entities = m.Text, m.ents
		return w
	}
	w.Caption, w.CapEnts = m.Text, m.ents
	m.attach(w)
	return w
}

func (m *stored) attach(w *wireMessage) {
	f := wireFile{ID: m.fileID, Unique: "u" + m.fileID, Name: m.File.Name, Type: m.File.Type, Size: m.File.Size}
	if f.Size == 0 {
		f.Size = int64(len(m.File.Data))
	}
	switch m.File.Kind {
	case "photo":
		small := wireFile{ID: "thumb" + m.fileID, Unique: "t" + m.fileID, Size: 1, Width: 90, Height: 90}
		f.Name, f.Type, f.Width, f.Height = "", "", 1280, 960
		w.Photo = []wireFile{small, f}
	case "voice":
		f.Name, f.Duration = "", 3
		w.Voice = &f
	case "video":
		f.Width, f.Height, f.Duration = 640, 480, 3
		w.Video = &f
	default:
		w.Document = &f
	}
}
