package slack_test

import (
	"fmt"
	"slices"
	"testing"

	"paragents/adapters/slack/slacktest"
)

// TestBolt checks our Slack with a client library that knows nothing of this project, unchanged from its registry, over sockets and over HTTP. What it
// understands, and what it takes for an error, is what the adapter's tests rest on.
func TestBolt(t *testing.T) {
	for _, mode := range []string{"socket", "http"} {
		t.Run(mode, func(t *testing.T) { testBolt(t, mode) })
	}
}

func testBolt(t *testing.T, mode string) {
	srv := slacktest.New(t)
	room, direct := srv.Channel(), srv.Direct()
	bolt := startNode(t, []string{
		"MODE=" + mode, "API_URL=" + srv.URL(), "BOT_TOKEN=" + slacktest.BotToken, "APP_TOKEN=" + slacktest.AppToken, "SIGNING_SECRET=" + slacktest.SigningSecret,
	}, "bolt.mjs")
	start := bolt.next("start")
	if mode == "http" {
		srv.Callback(fmt.Sprintf("http://127.0.0.1:%d/slack/events", start.Port))
	}
	ann := func(channel, text string) string {
		return srv.Say(slacktest.Post{Channel: channel, By: slacktest.Ann, Text: text})
	}

	ann(direct, "hello <there> & you")
	bolt.want(`{"saw":"message","kind":"im","subtype":"","text":"hello &lt;there&gt; &amp; you","user":"U0ANN00001","files":0,"bot":false,"team":""}`)
	srv.Say(slacktest.Post{Channel: room, By: slacktest.Eve, Text: "guten Tag"})
	bolt.want(`{"saw":"message","kind":"channel","subtype":"","text":"guten Tag","user":"U0EVE00001","files":0,"bot":false,"team":"T0OTHER01"}`)
	srv.Say(slacktest.Post{Channel: direct, By: slacktest.Ann, Text: "see", File: &slacktest.File{Name: "a.png", Data: []byte("x")}})
	bolt.want(`{"saw":"message","kind":"im","subtype":"file_share","text":"see","user":"U0ANN00001","files":1,"bot":false,"team":""}`)

	// A mention is two events, which Bolt handles beside each other.
	root := srv.Say(slacktest.Post{Channel: room, By: slacktest.Ann, Mention: slacktest.Bot(), Text: "list pods"})
	lines := []string{bolt.line(), bolt.line(), bolt.line()}
	slices.Sort(lines)
	if want := `{"saw":"mention","text":"<@U0BOT00001> list pods","ts":"` + root + `","edited":false}`; lines[0] != want {
		t.Errorf("the mention is %s, want %s", lines[0], want)
	}
	answer := srv.Await(room, root, func(m slacktest.Message) bool { return len(m.Blocks) > 0 })
	if want := `{"saw":"posted","ts":"` + answer.TS + `","replies":2,"metadata":"m-1"}`; lines[2] != want {
		t.Errorf("the answer is %s, want %s", lines[2], want)
	}
	if got := answer.Buttons(); len(got) != 2 || answer.Shown() != "**May I?**" {
		t.Errorf("shown is %q with buttons %v", answer.Shown(), got)
	}

	srv.Press(room, slacktest.Ann, answer.TS, "Approve")
	bolt.want(`{"saw":"press","value":"v-yes","by":"U0ANN00001","message":"` + answer.TS + `","thread":"` + root + `"}`)
	srv.Await(room, root, func(m slacktest.Message) bool { return m.Text == "approved" && len(m.Blocks) == 0 })
	srv.Await(room, "", func(m slacktest.Message) bool { return m.Text == "noted" && m.Only == slacktest.Ann.ID })

	bolt.want(`{"saw":"message","kind":"channel","subtype":"message_changed","text":"approved","user":"","files":0,"bot":false,"team":""}`)

	srv.Command(room, slacktest.Ann, "list all")
	bolt.want(`{"saw":"command","text":"list all","channel":"ops","trigger":true}`)
	srv.Await(room, "", func(m slacktest.Message) bool { return m.Text == "listed" && m.Only == slacktest.Ann.ID })
	srv.Shortcut(room, slacktest.Bob, root)
	bolt.want(`{"saw":"shortcut","text":"<@U0BOT00001> list pods","by":"U0BOB00001"}`)

	srv.Command(direct, slacktest.Ann, "file")
	bolt.want(`{"saw":"command","text":"file","channel":"directmessage","trigger":true}`)
	bolt.next("uploaded")
	if m := srv.Await(direct, "", func(m slacktest.Message) bool { return m.File != nil && m.File.Name == "a.txt" }); string(m.File.Data) != "abc é" {
		t.Errorf("the file is %+v", m.File)
	}

	srv.Fail("reactions.add", slacktest.Failure{RetryAfter: 33})
	srv.Command(direct, slacktest.Ann, "limits")
	bolt.next("command")
	for _, want := range []string{
		`{"saw":"refused","name":"text","error":"msg_too_long","after":0}`,
		`{"saw":"refused","name":"section","error":"invalid_blocks","after":0}`,
		`{"saw":"refused","name":"blocks","error":"invalid_blocks","after":0}`,
		`{"saw":"refused","name":"markdown","error":"invalid_blocks","after":0}`,
		`{"saw":"refused","name":"label","error":"invalid_blocks","after":0}`,
		`{"saw":"refused","name":"no channel","error":"channel_not_found","after":0}`,
		`{"saw":"refused","name":"no message","error":"message_not_found","after":0}`,
		`{"saw":"refused","name":"no text","error":"no_text","after":0}`,
	} {
		bolt.want(want)
	}
	bolt.want(`{"saw":"refused","name":"rate","error":"slack_webapi_rate_limited_error","after":33}`)
	bolt.stop()
	bolt.next("end")
	for _, d := range srv.Deliveries() {
		if !d.Acked {
			t.Errorf("%s was not acknowledged: %s", d.Kind, d.Payload)
		}
	}
}
