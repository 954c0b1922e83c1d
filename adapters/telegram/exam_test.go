package telegram_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paragents/adapters/adaptertest"
	"paragents/adapters/telegram"
	"paragents/adapters/telegram/telegramtest"
	"paragents/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestExam(t *testing.T) {
	adaptertest.Run(t, func(t *testing.T) adaptertest.Harness { return newHarness(t) })
}

// harness is Telegram for the exam.
type harness struct {
	t       *testing.T
	srv     *telegramtest.Server
	private int64
	group   int64
	forum   int64
	topic   int64
}

func newHarness(t *testing.T) *harness {
	srv := telegramtest.New(t)
	h := &harness{t: t, srv: srv, private: srv.Private(telegramtest.Ann), group: srv.Group("supergroup", "Ops"), forum: srv.Group("forum", "Agents")}
	h.topic = srv.Topic(h.forum, telegramtest.Ann, "pods")
	return h
}

func (h *harness) Adapter() core.Adapter { return newAdapter(h.t, h.srv, telegram.Config{}) }

// newAdapter fills in what every adapter of a test needs.
func newAdapter(t *testing.T, srv *telegramtest.Server, cfg telegram.Config) *telegram.Adapter {
	t.Helper()
	cfg.Token, cfg.APIURL, cfg.HTTPClient = telegramtest.Token, srv.URL(), srv.Client()
	a, err := telegram.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (h *harness) Facts() adaptertest.Facts {
	return adaptertest.Facts{
		Ann:     "telegram:101",
		Secrets: []string{telegramtest.Token, strings.Replace(telegramtest.Token, ":", "%3A", 1)},
		Replies: true, Refuses: true, Keeps: true, Silence: true,
	}
}

func (h *harness) Place(w adaptertest.Where) core.Place {
	switch w {
	case adaptertest.Direct:
		return core.Place{Platform: "telegram", Channel: id(h.private), Private: true}
	case adaptertest.Thread:
		return core.Place{Platform: "telegram", Channel: id(h.forum), Thread: id(h.topic)}
	}
	return core.Place{Platform: "telegram", Channel: id(h.group)}
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (h *harness) Act(a adaptertest.Action) string {
	who := telegramtest.Ann
	switch a.By {
	case adaptertest.Bob:
		who = telegramtest.Bob
	case adaptertest.Machine:
		who = telegramtest.Rob
	}
	chat := number(a.Place.Channel)
	p := telegramtest.Post{Chat: chat, Thread: number(a.Place.Thread), From: who, Text: a.Text}
	switch a.Do {
	case adaptertest.Mention:
		name := telegramtest.BotName
		if a.Whom == adaptertest.Bob {
			name = telegramtest.Bob.Username
		}
		p.Text = "@" + name + " " + a.Text
	case adaptertest.Reply:
		p.ReplyTo = number(a.Message)
	case adaptertest.Command:
		name, rest, _ := strings.Cut(a.Text, " ")
		if !a.Place.Private {
			name += "@" + telegramtest.BotName
		}
		p.Text = strings.TrimSpace("/" + name + " " + rest)
	case adaptertest.Press:
		h.srv.Press(who, chat, number(a.Message), a.Label)
		return ""
	case adaptertest.Change:
		h.srv.Edit(chat, number(a.Message), a.Text)
		return ""
	case adaptertest.Remove:
		h.srv.Delete(chat, number(a.Message))
		return ""
	case adaptertest.Attach:
		p.File = &telegramtest.Upload{Name: a.File.Name, Data: a.File.Data}
	case adaptertest.Invite:
		h.srv.SetMember(chat, who, "member")
		return ""
	case adaptertest.Expel:
		h.srv.SetMember(chat, who, "kicked")
		return ""
	}
	return id(h.srv.Post(p))
}

func (h *harness) Fail(f adaptertest.Failure) {
	next := func(failure telegramtest.Failure) { h.srv.Fail("sendMessage", failure) }
	switch f.Trouble {
	case adaptertest.Down:
		h.srv.Down()
	case adaptertest.Up:
		h.srv.Up()
	case adaptertest.Rate:
		after := int(f.After / time.Second)
		next(telegramtest.Failure{Code: 429, Text: "Too Many Requests: retry after " + strconv.Itoa(after), RetryAfter: after})
	case adaptertest.Odd:
		next(telegramtest.Failure{Code: 400, Text: `Bad Request: can't parse entities: Unsupported start tag "ann" at byte offset 4`})
	case adaptertest.Cut:
		next(telegramtest.Failure{Cut: true, Done: true})
	case adaptertest.Gone:
		h.srv.SetMember(number(f.Place.Channel), telegramtest.Ann, "kicked")
	case adaptertest.Weird:
		h.srv.Push("message", `{"message_id":{"new":"form"},"date":"tomorrow","chat":7}`)
		h.srv.Push("message", `[1,2,3]`)
		h.srv.Push("callback_query", `{"id":"1","from":{"id":1}}`)
	}
}

func (h *harness) Shown(p core.Place) []adaptertest.Shown {
	var out []adaptertest.Shown
	for _, m := range h.srv.Messages(number(p.Channel)) {
		if id(m.Thread) != p.Thread && !(m.Thread == 0 && p.Thread == "") {
			continue
		}
		s := adaptertest.Shown{ID: id(m.ID), Text: m.Text, FromBot: m.FromBot, Silent: m.Silent}
		if m.ReplyTo != 0 {
			s.Reply = id(m.ReplyTo)
		}
		if m.File != nil {
			s.File = &core.File{Name: m.File.Name, Data: m.File.Data}
		}
		for _, row := range m.Keyboard {
			var labels []string
			for _, b := range row {
				labels = append(labels, b.Text)
			}
			s.Buttons = append(s.Buttons, labels)
		}
		out = append(out, s)
	}
	return out
}
