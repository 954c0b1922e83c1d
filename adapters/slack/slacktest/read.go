package slacktest

import (
	"encoding/json"
	"slices"
	"strconv"
)

// wire is a message as the platform tells of it.
type wire struct {
	Type     string          `json:"type"`
	Subtype  string          `json:"subtype,omitempty"`
	User     string          `json:"user,omitempty"`
	Team     string          `json:"team,omitempty"`
	UserTeam string          `json:"user_team,omitempty"`
	Source   string          `json:"source_team,omitempty"`
	BotID    string          `json:"bot_id,omitempty"`
	AppID    string          `json:"app_id,omitempty"`
	Text     string          `json:"text,omitempty"`
	TS       string          `json:"ts"`
	Thread   string          `json:"thread_ts,omitempty"`
	Channel  string          `json:"channel,omitempty"`
	Kind     string          `json:"channel_type,omitempty"`
	EventTS  string          `json:"event_ts,omitempty"`
	Edited   *wireEdited     `json:"edited,omitempty"`
	Blocks   []Block         `json:"blocks,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Files    []wireFile      `json:"files,omitempty"`
	New      *wire           `json:"message,omitempty"`
	Old      *wire           `json:"previous_message,omitempty"`
	Deleted  string          `json:"deleted_ts,omitempty"`
	Hidden   bool            `json:"hidden,omitempty"`
}

type wireEdited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// wire makes the platform's form of a message; s.mu is held.
func (s *Server) wire(m *Message, channel string) *wire {
	w := &wire{
		Type: "message", User: m.Author.ID, Team: m.Author.Team, Text: m.Text, TS: m.TS, Thread: m.Thread, Blocks: m.Blocks, BotID: m.Author.Bot,
	}
	if m.Author.Bot == BotID {
		w.AppID = AppID
	}
	if m.Author.Team != Team {
		w.UserTeam, w.Source = m.Author.Team, m.Author.Team
	}
	if m.Thread == "" && slices.ContainsFunc(s.channels[channel].messages, func(x *Message) bool { return x.Thread == m.TS }) {
		w.Thread = m.TS // a message with replies
	}
	if m.Edited != "" {
		w.Edited = &wireEdited{User: m.Author.ID, TS: m.Edited}
	}
	if m.File != nil {
		w.Files = []wireFile{s.wireFile(m.File)}
		w.Subtype = "file_share"
	}
	return w
}

// history lists a channel, newest first, or a thread, oldest first with its first message always.
func (s *Server) history(method string, req request) (any, *refusal) {
	r, wrong := s.reach(req.args["channel"])
	if wrong != nil {
		return nil, wrong
	}
	thread := req.args["ts"]
	var list []*Message
	for _, m := range r.messages {
		inside := m.Thread == "" && method == "conversations.history" || method == "conversations.replies" && m.Thread == thread
		first := method == "conversations.replies" && m.TS == thread
		if m.Only != "" || !first && (!inside || m.TS <= req.args["oldest"]) {
			continue
		}
		list = append(list, m)
	}
	if method == "conversations.replies" && len(list) == 0 {
		return nil, no("thread_not_found")
	}
	if method == "conversations.history" {
		slices.Reverse(list)
	}
	from, limit := atoi(req.args["cursor"]), atoi(req.args["limit"])
	if limit == 0 {
		limit = 100
	}
	out := struct {
		answer
		Messages []*wire `json:"messages"`
		More     bool    `json:"has_more"`
	}{answer: answer{OK: true}}
	for _, m := range list[min(from, len(list)):] {
		if len(out.Messages) == limit {
			out.More = true
			out.Metadata = &responseMeta{Cursor: strconv.Itoa(from + limit)}
			break
		}
		w := s.wire(m, r.id)
		if req.flag("include_all_metadata") {
			w.Metadata = m.Metadata
		}
		out.Messages = append(out.Messages, w)
	}
	return out, nil
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func (s *Server) react(req request) (any, *refusal) {
	r, wrong := s.reach(req.args["channel"])
	if wrong != nil {
		return nil, wrong
	}
	m := r.find(req.args["timestamp"])
	switch {
	case m == nil:
		return nil, no("message_not_found")
	case slices.Contains(m.Marks, req.args["name"]):
		return nil, no("already_reacted")
	}
	m.Marks = append(m.Marks, req.args["name"])
	s.changed.Broadcast()
	return answer{OK: true}, nil
}

func (s *Server) user(req request) (any, *refusal) {
	type profile struct {
		Display string `json:"display_name"`
		Real    string `json:"real_name"`
	}
	type user struct {
		ID      string  `json:"id"`
		Team    string  `json:"team_id"`
		Name    string  `json:"name"`
		Profile profile `json:"profile"`
	}
	for _, p := range people() {
		if p.ID == req.args["user"] {
			return struct {
				answer
				User user `json:"user"`
			}{answer{OK: true}, user{p.ID, p.Team, p.Name, profile{Display: p.Name}}}, nil
		}
	}
	return nil, no("user_not_found")
}
