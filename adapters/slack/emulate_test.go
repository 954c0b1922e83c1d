package slack_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	slackapi "github.com/slack-go/slack"

	"paragents/adapters/slack"
	"paragents/core"
)

// bearer sends the token where this server looks for it.
type bearer struct {
	token string
	base  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(r)
}

const (
	emulateBot = "xoxb-emulate-bot"
	emulateAnn = "xoxp-emulate-ann"
)

// startEmulate runs a Slack that nobody here wrote and gives the address of its API.
func startEmulate(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	n := startNode(t, nil, filepath.Join("node_modules", "emulate", "dist", "index.js"), "start", "-s", "slack", "-p", fmt.Sprint(port), "--seed", "emulate.yaml")
	// It says when its port is open: the address on a line of its own list.
	for !strings.Contains(n.line(), "Config:") {
	}
	address := fmt.Sprintf("http://localhost:%d/api/", port)
	for end := time.Now().Add(20 * time.Second); ; {
		resp, err := http.Post(address+"api.test", "", nil)
		if err == nil {
			resp.Body.Close() //nolint:errcheck // only whether it answers matters
			return address
		}
		if time.Now().After(end) {
			t.Fatalf("emulate does not answer: %v", err)
		}
	}
}

// TestEmulate sends, threads, edits, finds, catches up and uploads against a Slack that nobody here wrote.
func TestEmulate(t *testing.T) {
	address := startEmulate(t)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	client := func(token string) *http.Client { return &http.Client{Transport: bearer{token, base}} }
	a, err := slack.New(slack.Config{BotToken: emulateBot, AppToken: "xapp-none", APIURL: address, HTTPClient: client(emulateBot)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	ann := slackapi.New(emulateAnn, slackapi.OptionAPIURL(address), slackapi.OptionHTTPClient(client(emulateAnn)))
	made, err := ann.CreateConversationContext(t.Context(), slackapi.CreateConversationParams{ChannelName: "agents"})
	if err != nil {
		t.Fatal(err)
	}
	channel := made.ID
	bot := slackapi.New(emulateBot, slackapi.OptionAPIURL(address), slackapi.OptionHTTPClient(client(emulateBot)))
	if _, _, _, err := bot.JoinConversationContext(t.Context(), channel); err != nil {
		t.Fatal(err)
	}
	_, root, err := ann.PostMessageContext(t.Context(), channel, slackapi.MsgOptionText("list pods", false))
	if err != nil {
		t.Fatal(err)
	}

	place := core.Place{Platform: "slack", Channel: channel, Thread: root}
	m := core.Message{
		Place: place, Text: "**May I?**", Plain: "May I?", Marker: "m-0123456789",
		Rows: [][]core.Button{{{Label: "Approve once", Token: "t1", Style: "primary"}}, {{Label: "Deny", Token: "t2", Style: "danger"}}},
	}
	id, err := a.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if found, ok, err := a.Find(t.Context(), place, m.Marker); err != nil || !ok || found != id {
		t.Errorf("find gives %q %v %v, want %q", found, ok, err, id)
	}
	if err := a.React(t.Context(), place, root, "seen"); err != nil {
		t.Error(err)
	}
	if err := a.Edit(t.Context(), id, core.Message{Place: place, Text: "approved", Plain: "approved"}); err != nil {
		t.Error(err)
	}
	replies, _, _, err := bot.GetConversationRepliesContext(t.Context(), &slackapi.GetConversationRepliesParameters{ChannelID: channel, Timestamp: root})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(replies); n != 2 || replies[1].Text != "approved" || len(replies[1].Blocks.BlockSet) != 1 || replies[1].ThreadTimestamp != root {
		t.Errorf("the thread is %+v", replies)
	}

	file := core.Message{Place: place, Plain: "the whole diff", File: &core.File{Name: "change.diff", Data: []byte("+a\n-b\n")}}
	sent, err := a.Send(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	replies, _, _, err = bot.GetConversationRepliesContext(t.Context(), &slackapi.GetConversationRepliesParameters{ChannelID: channel, Timestamp: root})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(replies); n != 3 || replies[2].Timestamp != sent || len(replies[2].Files) != 1 {
		t.Fatalf("the file stands at %q in %+v", sent, replies)
	}
	body, err := a.Fetch(t.Context(), place, core.Attachment{ID: replies[2].Files[0].ID, Name: "change.diff"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err != nil || string(got) != "+a\n-b\n" {
		t.Errorf("fetched %q, %v", got, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}

	for _, text := range []string{"and the nodes", "please"} {
		if _, _, err := ann.PostMessageContext(t.Context(), channel, slackapi.MsgOptionText(text, false), slackapi.MsgOptionTS(root)); err != nil {
			t.Fatal(err)
		}
	}
	missed, err := a.CatchUp(t.Context(), place, timeOf(t, sent))
	if err != nil || len(missed) != 2 || missed[0].Text != "and the nodes" || missed[1].Text != "please" || missed[1].Place.Thread != root {
		t.Errorf("caught up %+v, %v", missed, err)
	}

	for what, p := range map[string]core.Place{"no channel": {Platform: "slack", Channel: "C0NOWHERE"}} {
		if _, err := a.Send(t.Context(), core.Message{Place: p, Plain: "x"}); fault(err) != core.FaultGone {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := a.Edit(t.Context(), "1700000000.000100", core.Message{Place: place, Plain: "x"}); fault(err) != core.FaultGone {
		t.Errorf("edit of no message: %v", err)
	}
}
