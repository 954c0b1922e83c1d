package telegram

import (
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"
	"time"

	"paragents/core"
)

const platform = "telegram"

// inbound makes an update one event. It reports false for what means nothing to the bot: service messages, commands to other bots, changes of
// its rank.
func inbound(u update, me account) (core.Inbound, bool) {
	switch {
	case u.Message != nil:
		return fromMessage(u.Message, me)
	case u.Edited != nil:
		return fromEdit(u.Edited, me)
	case u.Callback != nil:
		return fromPress(u.Callback, me)
	case u.Member != nil:
		return fromMember(u, me)
	}
	return core.Inbound{}, false
}

func fromMessage(m *message, me account) (core.Inbound, bool) {
	e := about(m, me)
	if m.MigratedTo != 0 {
		e.Kind = core.InMoved
		e.MovedTo = core.Place{Platform: platform, Channel: id(m.MigratedTo)}
		return e, true
	}
	e.Kind = core.InMessage
	e.Files = files(m)
	e.Group = m.Album
	return addressed(e, m, me)
}

func fromEdit(m *message, me account) (core.Inbound, bool) {
	e := about(m, me)
	e.Kind = core.InEdit
	e.Original = e.ID
	e.ID += "/edit/" + id(m.EditDate) + "/" + id(int64(crc32.ChecksumIEEE([]byte(m.Text+m.Caption)))) // there can be two in a second
	e.At = time.Unix(max(m.Date, m.EditDate), 0).UTC()
	return addressed(e, m, me)
}

// about fills in what every kind of message has.
func about(m *message, me account) core.Inbound {
	e := core.Inbound{
		ID:      eventID(me, id(m.Chat.ID), id(m.ID)),
		Place:   place(m),
		Message: id(m.ID),
		At:      time.Unix(m.Date, 0).UTC(),
		Bot:     m.SenderChat != nil || m.ViaBot != nil || m.From == nil || m.From.IsBot,
	}
	switch {
	case m.From != nil:
		e.Person, e.Name = person(m.From)
	case m.SenderChat != nil:
		e.Person, e.Name = core.Person(platform+":"+id(m.SenderChat.ID)), m.SenderChat.Title
	}
	return e
}

// addressed fills in the text and whom it is for. It reports false when there is nothing to read, or when another bot is meant.
func addressed(e core.Inbound, m *message, me account) (core.Inbound, bool) {
	text, ents := m.Text, m.Entities
	if text == "" {
		text, ents = m.Caption, m.CapEnts
	}
	var mentioned bool
	e.Text, mentioned, e.ToOther = withoutMention(text, ents, me)
	toReply := false
	// In a topic every message answers the message that opened it; that is not a person's reply.
	if r := m.ReplyTo; r != nil && r.Created == nil && !(m.InTopic && r.ID == m.Thread) {
		e.ReplyTo = id(r.ID)
		e.Quote = r.Text + r.Caption // one of them is empty
		if m.Quote != nil {
			e.Quote = m.Quote.Text
		}
		toReply = r.From != nil && r.From.ID == me.ID
	}
	e.Addressed = e.Place.Private || mentioned || toReply
	if c := commandForm.FindStringSubmatchIndex(e.Text); c != nil {
		if c[4] >= 0 && !strings.EqualFold(e.Text[c[4]:c[5]], me.Username) {
			return e, false
		}
		e.Addressed = true
		if e.Kind == core.InMessage {
			e.Kind = core.InCommand
			e.Text = strings.TrimSpace(e.Text[c[2]:c[3]] + e.Text[max(c[3], c[5]):])
		}
	}
	return e, e.Text != "" || len(e.Files) > 0 || e.Kind == core.InMessage && mentioned
}

// commandForm finds /name and /name@bot at the beginning: the name, and the bot if one is named.
var commandForm = regexp.MustCompile(`^/([A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?(?:$|[^A-Za-z0-9_/<>@])`)

// fromPress takes the press of a button. The platform does not say when it happened: At stays zero.
func fromPress(c *callbackQuery, me account) (core.Inbound, bool) {
	if c.Message == nil || c.Data == "" {
		return core.Inbound{}, false // of an inline message or a game, which the bot never sends
	}
	e := core.Inbound{
		ID:        eventID(me, "press", c.ID),
		Kind:      core.InPress,
		Place:     place(c.Message),
		Message:   id(c.Message.ID),
		Token:     c.Data,
		Callback:  c.ID,
		Addressed: true,
		Bot:       c.From.IsBot,
	}
	e.Person, e.Name = person(&c.From)
	return e, true
}

func fromMember(u update, me account) (core.Inbound, bool) {
	m := u.Member
	if m.Old.here() == m.New.here() {
		return core.Inbound{}, false
	}
	e := core.Inbound{
		ID:    eventID(me, "update", id(u.ID)),
		Kind:  core.InLeft,
		Place: core.Place{Platform: platform, Channel: id(m.Chat.ID), Private: m.Chat.Type == "private"},
		At:    time.Unix(m.Date, 0).UTC(),
		Bot:   m.From.IsBot,
	}
	if m.New.here() {
		e.Kind = core.InJoined
	}
	e.Person, e.Name = person(&m.From)
	return e, true
}

// eventID names an event by what the platform calls it, never by the envelope where the thing itself has a name.
func eventID(me account, parts ...string) string {
	return platform + ":" + id(me.ID) + "/" + strings.Join(parts, "/")
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

// place is where a message stands. The General topic of a forum is its chat without a topic, for it has an id that nothing can be sent to.
func place(m *message) core.Place {
	p := core.Place{Platform: platform, Channel: id(m.Chat.ID), Private: m.Chat.Type == "private"}
	if m.InTopic && m.Thread != generalTopic {
		p.Thread = id(m.Thread)
	}
	return p
}

const generalTopic = 1

func person(u *user) (core.Person, string) {
	name := strings.TrimSpace(u.FirstName + " " + u.LastName)
	if name == "" {
		name = u.Username
	}
	return core.Person(platform + ":" + id(u.ID)), name
}

// files lists what hangs on a message, by reference.
func files(m *message) []core.Attachment {
	var out []core.Attachment
	add := func(d *document, name, kind string) {
		if d == nil {
			return
		}
		f := core.Attachment{ID: d.FileID, Name: d.Name, Type: d.Type, Size: d.Size}
		if f.Name == "" {
			f.Name = name
		}
		if f.Type == "" {
			f.Type = kind
		}
		out = append(out, f)
	}
	if n := len(m.Photo); n > 0 {
		best := m.Photo[0] // the platform offers the picture in several sizes
		for _, p := range m.Photo[1:] {
			if p.Width > best.Width {
				best = p
			}
		}
		add(&document{FileID: best.FileID, Size: best.Size}, "photo.jpg", "image/jpeg")
	}
	add(m.Document, "file", "application/octet-stream")
	add(m.Audio, "audio.mp3", "audio/mpeg")
	add(m.Video, "video.mp4", "video/mp4")
	add(m.VideoNote, "video.mp4", "video/mp4")
	add(m.Voice, "voice.ogg", "audio/ogg")
	return out
}
