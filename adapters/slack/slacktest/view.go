package slacktest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// triggerLife is how long after a press or command a view can be opened.
const triggerLife = 3 * time.Second

// View is a form that is open, or a person's page.
type View struct {
	ID       string
	Title    string
	Blocks   []Block
	callback string
	data     string
}

// Shown is what a person reads in a view.
func (v View) Shown() string { return Message{Blocks: v.Blocks}.Shown() }

// Buttons are the labels of a view's buttons, row by row.
func (v View) Buttons() [][]string { return Message{Blocks: v.Blocks}.Buttons() }

type trigger struct {
	user string
	at   time.Time
	used bool
}

// triggerOf makes a trigger; s.mu is held.
func (s *Server) triggerOf(user string) string {
	id := s.number("trigger.")
	s.triggers[id] = &trigger{user: user, at: time.Now()}
	return id
}

type viewArgs struct {
	Type     string          `json:"type"`
	Title    textObject      `json:"title"`
	Submit   textObject      `json:"submit"`
	Close    textObject      `json:"close"`
	Callback string          `json:"callback_id"`
	Data     string          `json:"private_metadata"`
	Blocks   json.RawMessage `json:"blocks"`
}

type viewAnswer struct {
	answer
	View idObject `json:"view"`
}

// openView shows a form to whoever a trigger belongs to; s.mu is held.
func (s *Server) openView(req request) (any, *refusal) {
	var v viewArgs
	if json.Unmarshal([]byte(req.args["view"]), &v) != nil || v.Type != "modal" {
		return nil, no("invalid_arguments", "not a view [json-pointer:/view]")
	}
	t := s.triggers[req.args["trigger_id"]]
	switch {
	case t == nil:
		return nil, no("invalid_trigger_id")
	case t.used:
		return nil, no("exchanged_trigger_id")
	case time.Since(t.at) > triggerLife:
		return nil, no("expired_trigger_id")
	}
	for _, wrong := range []*refusal{
		length("/view/title", v.Title.Text, 1, 24), length("/view/submit", v.Submit.Text, 1, 24), length("/view/close", v.Close.Text, 0, 24),
		length("/view/private_metadata", v.Data, 0, 3000), length("/view/callback_id", v.Callback, 0, 255),
	} {
		if wrong != nil {
			return nil, no("invalid_arguments", wrong.messages...)
		}
	}
	var blocks []struct {
		Type    string     `json:"type"`
		ID      string     `json:"block_id"`
		Label   textObject `json:"label"`
		Element struct {
			Type string `json:"type"`
			ID   string `json:"action_id"`
			Max  int    `json:"max_length"`
		} `json:"element"`
	}
	if json.Unmarshal(v.Blocks, &blocks) != nil || len(blocks) != 1 {
		return nil, no("invalid_arguments", "this platform for tests knows forms with one field [json-pointer:/view/blocks]")
	}
	b := blocks[0]
	if b.Type != "input" || b.Label.Type != "plain_text" || b.Element.Type != "plain_text_input" || b.Element.Max < 1 || b.Element.Max > 3000 ||
		length("", b.Label.Text, 1, 2000) != nil {
		return nil, no("invalid_arguments", "no field for a text [json-pointer:/view/blocks/0]")
	}
	t.used = true
	open := &View{ID: s.number("V"), Title: v.Title.Text, Blocks: []Block{{Type: "input", ID: b.ID, Text: blockText(b.Label), Elements: []blockItem{{Type: "field", ID: b.Element.ID}}}},
		callback: v.Callback, data: v.Data}
	s.forms[t.user] = open
	s.changed.Broadcast()
	return viewAnswer{answer{OK: true}, idObject{ID: open.ID}}, nil
}

// publishView shows a person's page; s.mu is held.
func (s *Server) publishView(req request) (any, *refusal) {
	var v viewArgs
	if json.Unmarshal([]byte(req.args["view"]), &v) != nil || v.Type != "home" {
		return nil, no("invalid_arguments", "not a home view [json-pointer:/view]")
	}
	var blocks []Block
	if json.Unmarshal(v.Blocks, &blocks) != nil || len(blocks) > 100 {
		return nil, no("invalid_arguments", "no more than 100 items allowed [json-pointer:/view/blocks]")
	}
	for i, b := range blocks {
		at := fmt.Sprintf("/view/blocks/%d", i)
		wrong := no("invalid_arguments", "unsupported type: "+b.Type+" [json-pointer:"+at+"]")
		switch b.Type {
		case "section":
			wrong = length(at, b.Text.Text, 1, 3000)
		case "actions":
			wrong = checkActions(at, b.Elements)
		}
		if wrong != nil {
			return nil, no("invalid_arguments", wrong.messages...)
		}
	}
	if !known(req.args["user_id"]) {
		return nil, no("invalid_arguments", "user_not_found [json-pointer:/user_id]")
	}
	old := s.homes[req.args["user_id"]]
	page := &View{ID: s.number("V"), Blocks: blocks}
	if old != nil {
		page.ID = old.ID
	}
	s.homes[req.args["user_id"]] = page
	s.changed.Broadcast()
	return viewAnswer{answer{OK: true}, idObject{ID: page.ID}}, nil
}

func known(user string) bool {
	for _, p := range people() {
		if p.ID == user {
			return true
		}
	}
	return false
}

// Form waits until a form is shown to a person.
func (s *Server) Form(p Person) View {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.await("a form for "+p.Name, func() bool { return s.forms[p.ID] != nil })
	return *s.forms[p.ID]
}

// Fill fills in the form that is shown to a person, which is then gone.
func (s *Server) Fill(p Person, text string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready()
	v := s.forms[p.ID]
	if v == nil || utf8.RuneCountInString(text) == 0 {
		s.t.Errorf("%s has no form, or writes nothing in it", p.Name)
		return
	}
	delete(s.forms, p.ID)
	in := s.bare("view_submission", p)
	in.View = &wireView{ID: v.ID, Type: "modal", Callback: v.callback, Data: v.data, State: map[string]any{
		"values": map[string]any{v.Blocks[0].ID: map[string]any{v.Blocks[0].Elements[0].ID: map[string]string{"type": "plain_text_input", "value": text}}},
	}}
	s.enqueue("interactive", in, false)
}

// OpenHome opens the bot's page, or with another tab its messages.
func (s *Server) OpenHome(p Person, tab string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(map[string]any{"type": "app_home_opened", "user": p.ID, "channel": "D0HOME", "tab": tab, "event_ts": s.stamp()})
}

// Home waits until a person's page fits.
func (s *Server) Home(p Person, fits func(View) bool) View {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.await("the page of "+p.Name, func() bool { return s.homes[p.ID] != nil && fits(*s.homes[p.ID]) })
	if s.homes[p.ID] == nil {
		return View{}
	}
	return *s.homes[p.ID]
}

// PressHome presses the first button with a label, under or after a section with a text, on a person's page.
func (s *Server) PressHome(p Person, about, label string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready()
	v := s.homes[p.ID]
	if v == nil {
		s.t.Errorf("press %s: %s has no page", label, p.Name)
		return
	}
	there := false
	for _, b := range v.Blocks {
		there = there || b.Type == "section" && strings.Contains(b.Text.Text, about)
		for _, e := range b.Elements {
			if !there || e.Text.Text != label {
				continue
			}
			in := s.bare("block_actions", p)
			in.View = &wireView{ID: v.ID, Type: "home"}
			in.Container = &container{Type: "view"}
			in.Actions = []pressedItem{{ID: e.ID, Block: b.ID, Text: e.Text, Value: e.Value, Type: "button", TS: s.stamp()}}
			s.enqueue("interactive", in, false)
			return
		}
	}
	s.t.Errorf("press %s: the page of %s has no such button under %q", label, p.Name, about)
}

type wireView struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Callback string         `json:"callback_id"`
	Data     string         `json:"private_metadata"`
	State    map[string]any `json:"state,omitempty"`
}

// bare is an interaction that stands in no channel; s.mu is held.
func (s *Server) bare(kind string, by Person) interaction {
	return interaction{
		Type: kind, User: interactor{by.ID, strings.ToLower(by.Name), by.Name, by.Team}, App: AppID, Token: "x", Trigger: s.triggerOf(by.ID), Team: &idObject{ID: Team, Domain: "ours"},
	}
}
