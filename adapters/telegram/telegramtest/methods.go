package telegramtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// call runs a method. Names are not case-sensitive on the real server either.
func (s *Server) call(method string, r request) (any, *refusal) {
	switch method {
	case "getupdates":
		return s.getUpdates(r)
	case "setwebhook":
		return s.setWebhook(r)
	case "deletewebhook":
		return s.deleteWebhook(r)
	case "getwebhookinfo":
		return s.webhookInfo(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "getme":
		return account{User: us, Joins: true, ReadsAll: !s.privacy}, nil
	case "sendmessage", "senddocument":
		return s.send(r)
	case "editmessagetext", "editmessagecaption", "editmessagereplymarkup":
		return s.edit(method, r)
	case "deletemessage":
		return s.remove(r)
	case "answercallbackquery":
		return s.answerPress(r)
	case "sendchataction":
		return s.action(r)
	case "setmessagereaction":
		return s.react(r)
	case "createforumtopic":
		return s.createTopic(r)
	case "getfile":
		return s.getFile(r)
	case "setmycommands":
		return s.setMenu(r)
	}
	return nil, &refusal{code: 404, text: "Not Found: method not found"}
}

type account struct {
	User
	Joins    bool `json:"can_join_groups"`
	ReadsAll bool `json:"can_read_all_group_messages"`
	Inline   bool `json:"supports_inline_queries"`
}

// target finds the chat of a call, if the bot may use it now.
func (s *Server) target(r request) (*room, *refusal) {
	c := s.chats[r.int("chat_id")]
	switch {
	case c == nil:
		return nil, bad("chat not found")
	case c.movedTo != 0:
		return nil, &refusal{code: 400, text: "Bad Request: group chat was upgraded to a supergroup chat", migrateTo: c.movedTo}
	case c.status == "kicked" && c.chat.Type == "private":
		return nil, &refusal{code: 403, text: "Forbidden: bot was blocked by the user"}
	case c.status == "kicked":
		return nil, &refusal{code: 403, text: "Forbidden: bot was kicked from the " + c.chat.Type + " chat"}
	case c.status == "left":
		return nil, &refusal{code: 403, text: "Forbidden: bot is not a member of the " + c.chat.Type + " chat"}
	}
	if left := time.Until(c.floodUntil); left > 0 {
		after := int((left + time.Second - 1) / time.Second)
		return nil, &refusal{code: 429, text: fmt.Sprintf("Too Many Requests: retry after %d", after), after: after}
	}
	return c, nil
}

// topic checks the thread of a call. General has no id here.
func (c *room) topic(r request) (int64, *refusal) {
	thread := r.int("message_thread_id")
	if thread != 0 && c.topics[thread] == "" {
		return 0, bad("message thread not found")
	}
	return thread, nil
}

func (s *Server) send(r request) (any, *refusal) {
	c, refused := s.target(r)
	if refused != nil {
		return nil, refused
	}
	m := &stored{from: us}
	if m.Thread, refused = c.topic(r); refused != nil {
		return nil, refused
	}
	if refused = s.content(m, r, r.file != nil); refused != nil {
		return nil, refused
	}
	if raw := r.params["reply_parameters"]; raw != "" {
		var to struct {
			ID     int64 `json:"message_id"`
			Anyway bool  `json:"allow_sending_without_reply"`
		}
		if json.Unmarshal([]byte(raw), &to) != nil {
			return nil, bad("can't parse reply parameters JSON object")
		}
		switch {
		case c.find(to.ID) != nil:
			m.ReplyTo = to.ID
		case !to.Anyway:
			return nil, bad("message to be replied not found")
		}
	}
	m.Silent = r.params["disable_notification"] == "true"
	if r.file != nil {
		if len(r.file.Data) == 0 {
			return nil, bad("file must be non-empty")
		}
		m.File = r.file
		m.fileID = s.storeLocked(*r.file)
	}
	return c.wire(c.add(m), true), nil
}

// content reads text or caption, entities and keyboard of a call into m.
func (s *Server) content(m *stored, r request, file bool) *refusal {
	field, longest, what := "text", 4096, "message"
	if file {
		field, longest, what = "caption", 1024, "message caption"
	}
	sent := r.params[field]
	if !utf8.ValidString(sent) {
		return bad("strings must be encoded in UTF-8")
	}
	text, ents := sent, []Entity(nil)
	switch mode := strings.ToLower(r.params["parse_mode"]); mode {
	case "":
	case "html":
		var err error
		if text, ents, err = parseHTML(sent); err != nil {
			return bad("can't parse entities: " + err.Error())
		}
	default:
		return bad("unsupported parse_mode")
	}
	text, ents = trim(text, ents)
	switch {
	case text == "" && !file:
		return bad("message text is empty")
	case units(text) > longest, s.raw && units(sent) > longest:
		return bad(what + " is too long")
	}
	var k markup
	if raw := r.params["reply_markup"]; raw != "" {
		if json.Unmarshal([]byte(raw), &k) != nil {
			return bad("can't parse reply keyboard markup JSON object")
		}
		if refused := k.check(); refused != nil {
			return refused
		}
	}
	var preview struct {
		Off bool `json:"is_disabled"`
	}
	if raw := r.params["link_preview_options"]; raw != "" && json.Unmarshal([]byte(raw), &preview) != nil {
		return bad("can't parse link preview options JSON object")
	}
	m.Text, m.Sent, m.ents, m.Entities, m.Keyboard, m.Preview = text, sent, ents, ents, k.Rows, !preview.Off
	return nil
}

// trim takes white space off both ends, as the real server does.
func trim(text string, ents []Entity) (string, []Entity) {
	short := strings.TrimLeft(text, " \t\r\n")
	cut := units(text) - units(short)
	short = strings.TrimRight(short, " \t\r\n")
	length := units(short)
	var out []Entity
	for _, e := range ents {
		from, to := max(e.Offset-cut, 0), min(e.Offset-cut+e.Length, length)
		if to > from {
			e.Offset, e.Length = from, to-from
			out = append(out, e)
		}
	}
	return short, out
}

func (k markup) check() *refusal {
	for _, row := range k.Rows {
		for _, b := range row {
			switch {
			case b.Text == "":
				return bad("can't parse inline keyboard button: Field \"text\" must be non-empty")
			case b.Data == "" && b.URL == "":
				return bad("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			case len(b.Data) > 64:
				return bad("BUTTON_DATA_INVALID")
			case !slices.Contains([]string{"", "primary", "success", "danger"}, b.Style):
				return bad("can't parse inline keyboard button: invalid button style specified")
			}
		}
	}
	return nil
}

func (s *Server) edit(method string, r request) (any, *refusal) {
	c, refused := s.target(r)
	if refused != nil {
		return nil, refused
	}
	m := c.find(r.int("message_id"))
	switch {
	case m == nil:
		return nil, bad("message to edit not found")
	case m.from.ID != BotID:
		return nil, bad("message can't be edited")
	case method == "editmessagetext" && m.File != nil:
		return nil, bad("there is no text in the message to edit")
	case method == "editmessagecaption" && m.File == nil:
		return nil, bad("there is no caption in the message to edit")
	}
	if method == "editmessagereplymarkup" {
		r.params["text"], r.params["caption"], r.params["parse_mode"] = m.Text, m.Text, ""
	}
	next := *m
	if refused := s.content(&next, r, m.File != nil); refused != nil {
		return nil, refused
	}
	if method == "editmessagereplymarkup" {
		next.ents, next.Entities, next.Sent, next.Preview = m.ents, m.Entities, m.Sent, m.Preview
	}
	same := next.Text == m.Text && slices.Equal(next.ents, m.ents) &&
		slices.EqualFunc(next.Keyboard, m.Keyboard, slices.Equal[[]Button])
	if same {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same as a current content " +
			"and reply markup of the message")
	}
	next.Edits++
	next.edited = time.Now()
	*m = next
	return c.wire(m, true), nil
}

func (s *Server) remove(r request) (any, *refusal) {
	c, refused := s.target(r)
	if refused != nil {
		return nil, refused
	}
	if !c.remove(r.int("message_id")) {
		return nil, bad("message to delete not found")
	}
	return true, nil
}

func (s *Server) answerPress(r request) (any, *refusal) {
	p := s.presses[r.params["callback_query_id"]]
	switch {
	case p == nil || p.answered:
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	case units(r.params["text"]) > 200:
		return nil, bad("MESSAGE_TOO_LONG")
	}
	p.answered, p.text = true, r.params["text"]
	return true, nil
}

func (s *Server) action(r request) (any, *refusal) {
	c, refused := s.target(r)
	if refused != nil {
		return nil, refused
	}
	if _, refused := c.topic(r); refused != nil {
		return nil, refused
	}
	if r.params["action"] != "typing" {
		return nil, bad("wrong parameter action in request")
	}
	return true, nil
}

// allowedReactions are what a bot may use without paying.
const allowedReactions = "👍👎❤🔥🥰👏😁🤔🤯😱🤬😢🎉🤩🤮💩🙏👌🕊🤡🥱🥴😍🐳🌚🌭💯🤣⚡🍌🏆💔🤨😐🍓🍾💋🖕😈😴😭🤓👻👀🎃🙈😇😨🤝✍🤗🫡🎅🎄☃💅🤪🗿🆒💘🙉🦄😘💊🙊😎👾🤷😡"

func (s *Server) react(r request) (any, *refusal) {
	c, refused := s.target(r)
	if refused != nil {
		return nil, refused
	}
	m := c.find(r.int("message_id"))
	if m == nil {
		return nil, bad("message to react not found")
	}
	var list []struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	if raw := r.params["reaction"]; raw != "" && json.Unmarshal([]byte(raw), &list) != nil {
		return nil, bad("can't parse reaction types JSON object")
	}
	switch {
	case len(list) > 1:
		return nil, bad("REACTIONS_TOO_MANY")
	case len(list) == 0:
		m.Reaction = ""
	case list[0].Type != "emoji" || list[0].Emoji == "" || !strings.Contains(allowedReactions, list[0].Emoji):
		return nil, bad("REACTION_INVALID")
	default:
		m.Reaction = list[0].Emoji
	}
	return true, nil
}

type forumTopic struct {
	Thread int64  `json:"message_thread_id"`
	Name   string `json:"name"`
	Color  int    `json:"icon_color"`
}

func (s *Server) createTopic(r request) (any, *refusal) {
	c, refused := s.target(r)
	if refused != nil {
		return nil, refused
	}
	name := r.params["name"]
	switch {
	case !c.chat.IsForum:
		return nil, bad("the chat is not a forum")
	case name == "" || utf8.RuneCountInString(name) > 128:
		return nil, bad("TOPIC_TITLE_EMPTY")
	}
	return forumTopic{s.topicLocked(c, us, name), name, 7322096}, nil
}

func (s *Server) setMenu(r request) (any, *refusal) {
	var list []struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	if json.Unmarshal([]byte(r.params["commands"]), &list) != nil || len(list) > 100 {
		return nil, bad("can't parse list of bot commands JSON object")
	}
	for _, c := range list {
		if !commandName(c.Command) {
			return nil, bad("BOT_COMMAND_INVALID")
		}
		if c.Description == "" || units(c.Description) > 256 {
			return nil, bad("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	scope := r.params["scope"]
	if scope == "" {
		scope = `{"type":"default"}`
	}
	s.menus[scope] = json.RawMessage(r.params["commands"])
	return true, nil
}

func commandName(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
