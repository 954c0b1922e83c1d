package slack_test

import (
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paragents/adapters/adaptertest"
	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestExam(t *testing.T) {
	adaptertest.Run(t, func(t *testing.T) adaptertest.Harness { return newHarness(t) })
}

// newAdapter fills in what every adapter of a test needs.
func newAdapter(t *testing.T, srv *slacktest.Server, cfg slack.Config) *slack.Adapter {
	t.Helper()
	cfg.BotToken, cfg.AppToken, cfg.SigningSecret = slacktest.BotToken, slacktest.AppToken, slacktest.SigningSecret
	cfg.APIURL, cfg.HTTPClient = srv.URL(), srv.Client()
	a, err := slack.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// harness is Slack for the exam.
type harness struct {
	t      *testing.T
	srv    *slacktest.Server
	direct string
	room   string
	other  string // with the thread
	thread string
}

func newHarness(t *testing.T) *harness {
	srv := slacktest.New(t)
	h := &harness{t: t, srv: srv, direct: srv.Direct(), room: srv.Channel(), other: srv.Channel()}
	srv.Lose(h.other) // nobody hears of the first message
	h.thread = srv.Say(slacktest.Post{Channel: h.other, By: slacktest.Ann, Text: "pods"})
	srv.Join(h.other)
	return h
}

func (h *harness) Adapter() core.Adapter { return newAdapter(h.t, h.srv, slack.Config{}) }

func (h *harness) Facts() adaptertest.Facts {
	return adaptertest.Facts{
		Ann:     "slack:" + slacktest.Team + "/U0ANN00001",
		Secrets: []string{slacktest.BotToken, slacktest.AppToken, slacktest.SigningSecret},
		Deletes: true, Refuses: true, Keeps: true, Roots: true,
	}
}

func (h *harness) Place(w adaptertest.Where) core.Place {
	p := core.Place{Platform: "slack", Space: slacktest.Team, Channel: h.room}
	switch w {
	case adaptertest.Direct:
		p.Channel, p.Private = h.direct, true
	case adaptertest.Thread:
		p.Channel, p.Thread = h.other, h.thread
	}
	return p
}

func (h *harness) Act(a adaptertest.Action) string {
	who := slacktest.Ann
	switch a.By {
	case adaptertest.Bob:
		who = slacktest.Bob
	case adaptertest.Machine:
		who = slacktest.Rob
	}
	channel := a.Place.Channel
	p := slacktest.Post{Channel: channel, Thread: a.Place.Thread, By: who, Text: a.Text}
	switch a.Do {
	case adaptertest.Mention:
		p.Mention = slacktest.Bot()
		if a.Whom == adaptertest.Bob {
			p.Mention = slacktest.Bob
		}
	case adaptertest.Command:
		h.srv.Command(channel, who, a.Text)
		return ""
	case adaptertest.Press:
		h.srv.Press(channel, who, a.Message, a.Label)
		return ""
	case adaptertest.Change:
		h.srv.Change(channel, a.Message, a.Text)
		return ""
	case adaptertest.Remove:
		h.srv.Remove(channel, a.Message)
		return ""
	case adaptertest.Attach:
		p.File = &slacktest.File{Name: a.File.Name, Data: a.File.Data}
	case adaptertest.Invite:
		h.srv.Invite(channel, who)
		return ""
	case adaptertest.Expel:
		h.srv.Expel(channel, who)
		return ""
	}
	return h.srv.Say(p)
}

func (h *harness) Fail(f adaptertest.Failure) {
	next := func(failure slacktest.Failure) { h.srv.Fail("chat.postMessage", failure) }
	switch f.Trouble {
	case adaptertest.Down:
		h.srv.Down()
	case adaptertest.Up:
		h.srv.Up()
	case adaptertest.Rate:
		next(slacktest.Failure{RetryAfter: int(f.After / time.Second)})
	case adaptertest.Odd:
		next(slacktest.Failure{Error: "invalid_blocks", Messages: []string{"must be valid markdown [json-pointer:/blocks/0/text]"}})
	case adaptertest.Cut:
		next(slacktest.Failure{Cut: true, Done: true})
	case adaptertest.Gone:
		h.srv.Lose(f.Place.Channel)
	case adaptertest.Weird:
		h.srv.Push(`[1,2,3]`)
		for i, payload := range []string{
			`{"type":"event_callback","event":{"type":"message","channel":{"id":7},"ts":[]}}`,
			`{"type":"event_callback","event":{"type":"pizza_arrived","channel":{"id":"C1"}}}`,
			`{"type":"event_callback"}`,
			`"hello"`,
		} {
			h.srv.Push(`{"type":"events_api","envelope_id":"odd-` + strconv.Itoa(i) + `","payload":` + payload + `}`)
		}
		h.srv.Push(`{"type":"interactive","envelope_id":"odd-i","payload":{"type":"block_actions","user":7}}`)
		h.srv.Push(`{"type":"telepathy","envelope_id":"odd-t","payload":{}}`)
	}
}

func (h *harness) Shown(p core.Place) []adaptertest.Shown {
	var out []adaptertest.Shown
	for _, m := range h.srv.Messages(p.Channel, p.Thread) {
		if m.Only != "" {
			continue
		}
		s := adaptertest.Shown{ID: m.TS, Text: m.Shown(), FromBot: m.Author.ID == slacktest.BotUser, Buttons: m.Buttons()}
		if m.File != nil {
			s.File = &core.File{Name: m.File.Name, Data: m.File.Data}
		}
		out = append(out, s)
	}
	return out
}
