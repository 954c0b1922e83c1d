package bot_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"paragents/core"
)

// chat is a platform in memory: what it shows outlives every process that speaks to it. What it can do is data.
type chat struct {
	caps        core.Capabilities
	forms       bool                         // it can show forms
	expired     bool                         // but not for presses as old as these
	home        map[core.Person]core.Message // pages of people
	form        *core.Form                   // the one that is shown
	unreachable core.Person                  // the bot may not begin a conversation with them
	stuck       core.Place                   // where status cards are not sent
	freed       chan struct{}                // until this is closed
	progress    bool                         // status cards are shown; their moment is exact on a virtual clock only
	inbox       chan delivery

	mu       sync.Mutex
	messages map[string][]*message // by place
	heard    []heard               // since the last take
	events   int
}

// message is one message as people see it now.
type message struct {
	core.Message
	id   string
	gone [][]core.Button // buttons that it has had
}

// heard is something that the bot did where people could notice.
type heard struct {
	at    time.Time
	place core.Place
	what  string // "", " edits", " reacts", " tells rob"
	id    string // of the message
	loud  bool
	desk  bool // an answer to what somebody did, and no news of a session
	lines []string

	session string // of the news
}

type delivery struct {
	event core.Inbound
	done  chan error
}

func newChat() *chat {
	return &chat{
		caps:     core.Capabilities{Platform: "chat", Dialect: "plain", Unit: "rune", Max: 4000, Buttons: true, Edits: true, Files: true, Slash: "/", EditRate: 2 * time.Second},
		inbox:    make(chan delivery),
		messages: map[string][]*message{},
		home:     map[core.Person]core.Message{},
	}
}

// post is what a person does. It returns when the bot has it for good, whichever process it was.
func (c *chat) post(e core.Inbound) error {
	d := delivery{event: e, done: make(chan error, 1)}
	c.inbox <- d
	return <-d.done
}

// id draws the identity of an event.
func (c *chat) id() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events++
	return strconv.Itoa(c.events)
}

// take returns what was heard since the last call.
func (c *chat) take() []heard {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.heard
	c.heard = nil
	return out
}

func (c *chat) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.heard)
}

// button finds the token behind a label at a place, the newest first; was: also one that is not shown any more. about narrows it to messages with a text.
func (c *chat) button(p core.Place, label, about string, was bool) (token string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.messages[p.Key()]
	for i := len(list) - 1; i >= 0; i-- {
		m := list[i]
		if !strings.Contains(m.Plain+m.Text, about) {
			continue
		}
		rows := m.Rows
		if was {
			rows = m.gone
		}
		for _, row := range rows {
			for _, b := range row {
				if b.Label == label || strings.HasPrefix(b.Label, label) && len(label) > 8 {
					return b.Token, true
				}
			}
		}
	}
	return "", false
}

// onPage finds the token behind a label on a person's page.
func (c *chat) onPage(p core.Person, label string) (token string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, row := range c.home[p].Rows {
		for _, b := range row {
			if b.Label == label {
				return b.Token, true
			}
		}
	}
	return "", false
}

// connection is one process's way to the chat. A cut one reaches nobody.
type connection struct {
	*chat
	cut <-chan struct{}
}

var errCut = errors.New("the process is dead")

func (c connection) dead() bool {
	select {
	case <-c.cut:
		return true
	default:
		return false
	}
}

func (c connection) Capabilities() core.Capabilities { return c.caps }

func (c connection) Receive(ctx context.Context, _ []byte, accept func(context.Context, []core.Inbound, []byte) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case d := <-c.inbox:
			d.done <- accept(ctx, []core.Inbound{d.event}, []byte(d.event.ID))
		}
	}
}

func (c connection) Send(_ context.Context, m core.Message) (string, error) {
	if c.dead() {
		return "", errCut
	}
	if m.Place == c.stuck && strings.Contains(m.Text, "[running]") {
		<-c.freed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	desk := m.Only != ""
	if m.Marker == "" && !desk && !c.progress {
		return "", &core.SendError{Fault: core.FaultRefused, Err: errors.New("no progress is shown here")}
	}
	what := ""
	if desk && !m.Place.Private {
		what = " whispers to " + name(m.Only)
	}
	list := c.messages[m.Place.Key()]
	id := fmt.Sprintf("id-%d", len(list)+1)
	c.messages[m.Place.Key()] = append(list, &message{Message: m, id: id, gone: m.Rows})
	c.hear(m, what, id, desk)
	return id, nil
}

func (c connection) Edit(_ context.Context, id string, m core.Message) error {
	if c.dead() {
		return errCut
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, old := range c.messages[m.Place.Key()] {
		if old.id == id {
			old.Message = m
			c.hear(m, " edits", id, m.Marker == "" && m.Card != "")
			return nil
		}
	}
	return &core.SendError{Fault: core.FaultGone, Err: fmt.Errorf("no message %s", id)}
}

func (c connection) Fetch(context.Context, core.Place, core.Attachment) (io.ReadCloser, error) {
	return nil, core.ErrNotFound
}

// React implements core.Reactor.
func (c connection) React(_ context.Context, p core.Place, id, mark string) error {
	if c.dead() {
		return errCut
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, heard{place: p, what: " reacts", desk: true, lines: []string{mark}})
	return nil
}

// Direct implements core.Director.
func (c connection) Direct(_ context.Context, p core.Person) (core.Place, error) {
	switch {
	case c.dead():
		return core.Place{}, errCut
	case p == c.unreachable:
		return core.Place{}, &core.SendError{Fault: core.FaultGone, Err: errors.New("they have not started the bot")}
	}
	return c.placeOf(name(p)), nil
}

// forms is a connection to a chat that can show forms.
type forms struct{ connection }

// Ask implements core.Asker. An expired press shows none.
func (f forms) Ask(_ context.Context, callback string, form core.Form) error {
	if f.expired {
		return &core.SendError{Fault: core.FaultRefused, Err: errors.New("expired_trigger_id")}
	}
	who, _, _ := strings.Cut(callback, " ")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.form = &form
	f.chat.heard = append(f.chat.heard, heard{place: form.Place, what: " asks " + who, desk: true, lines: []string{form.Title, form.Label, "[" + form.Submit + "]"}})
	return nil
}

// ShowHome implements core.Homer.
func (f forms) ShowHome(_ context.Context, p core.Person, page []core.Item) error {
	if f.dead() {
		return errCut
	}
	m := core.Message{Place: core.Place{Platform: f.caps.Platform, Private: true}, Only: p}
	var lines []string
	for _, item := range page {
		lines = append(lines, item.Text)
		for _, row := range item.Rows {
			labels := make([]string, len(row))
			for i, b := range row {
				labels[i] = "[" + b.Label + "]"
			}
			lines = append(lines, strings.Join(labels, " "))
		}
		m.Rows = append(m.Rows, item.Rows...)
	}
	m.Text = strings.Join(lines, "\n")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chat.hear(core.Message{Place: m.Place, Text: m.Text}, " shows "+name(p), "", true)
	f.home[p] = m
	return nil
}

// Answer implements core.Answerer. The callback is the place and the person, as the platform would know them.
func (c connection) Answer(_ context.Context, callback, note string) error {
	if c.dead() {
		return errCut
	}
	if note == "" {
		return nil
	}
	who, place, _ := strings.Cut(callback, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, heard{place: c.placeOf(place), what: " tells " + who, desk: true, lines: []string{note}})
	return nil
}

func (c *chat) hear(m core.Message, what, id string, desk bool) {
	text := m.Text
	if text == "" {
		text = m.Plain
	}
	var lines []string
	if m.File != nil {
		first, _, _ := strings.Cut(string(m.File.Data), "\n")
		lines = append(lines, fmt.Sprintf("(file %s, %d bytes: %s)", m.File.Name, len(m.File.Data), first))
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	for _, row := range m.Rows {
		labels := make([]string, len(row))
		for i, b := range row {
			labels[i] = "[" + b.Label + "]"
		}
		lines = append(lines, strings.Join(labels, " "))
	}
	c.heard = append(c.heard, heard{at: time.Now(), place: m.Place, what: what, id: id, loud: !m.Silent && !desk, desk: desk, lines: lines})
}

// placeOf reads a place as scripts write it: a person's own conversation by their name, "#ops" a channel, "#ops/3" a thread in it.
func (c *chat) placeOf(s string) core.Place {
	if s == "home" {
		return core.Place{Platform: c.caps.Platform, Private: true}
	}
	if channel, ok := strings.CutPrefix(s, "#"); ok {
		channel, thread, _ := strings.Cut(channel, "/")
		return core.Place{Platform: c.caps.Platform, Channel: channel, Thread: thread}
	}
	return core.Place{Platform: c.caps.Platform, Channel: s, Private: true}
}

// placeName is the inverse of placeOf.
func placeName(p core.Place) string {
	switch {
	case p.Channel == "":
		return "home"
	case p.Private:
		return p.Channel
	case p.Thread != "":
		return "#" + p.Channel + "/" + p.Thread
	}
	return "#" + p.Channel
}

// name is a person without the platform.
func name(p core.Person) string { return strings.TrimPrefix(string(p), p.Platform()+":") }
