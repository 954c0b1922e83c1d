package slack_test

import (
	"strings"
	"testing"

	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
)

func TestNew(t *testing.T) {
	good := slack.Config{BotToken: "xoxb-1", AppToken: "xapp-1", SigningSecret: "s3cretCANARY"}
	for _, c := range []struct {
		change func(*slack.Config)
		says   string
	}{
		{func(*slack.Config) {}, ""},
		{func(c *slack.Config) { c.Mode, c.AppToken = slack.HTTP, "" }, ""},
		{func(c *slack.Config) { c.APIURL = "http://127.0.0.1:8080/api" }, ""},
		{func(c *slack.Config) { c.BotToken = "xapp-CANARY" }, "slack.bot_token"},
		{func(c *slack.Config) { c.AppToken = "xoxb-CANARY" }, "slack.app_token"},
		{func(c *slack.Config) { c.Mode, c.SigningSecret = slack.HTTP, "" }, "slack.signing_secret"},
		{func(c *slack.Config) { c.Mode = "rtm" }, "slack.mode"},
		{func(c *slack.Config) { c.APIURL = "http://slack.com/api/" }, "must be https"},
		{func(c *slack.Config) { c.APIURL = "ftp://127.0.0.1" }, "must be https"},
		{func(c *slack.Config) { c.APIURL = "https://u:CANARY@slack.com/" }, "slack.api_url"},
	} {
		cfg := good
		c.change(&cfg)
		_, err := slack.New(cfg)
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "CANARY")) {
			t.Errorf("%+v: %v, want an error with %q", cfg, err, c.says)
		}
	}
}

func TestSockets(t *testing.T) {
	srv := slacktest.New(t)
	for mode, want := range map[string][2]int{slack.Socket: {2, 10}, slack.HTTP: {1, 0}} {
		if here, total := newAdapter(t, srv, slack.Config{Mode: mode}).Sockets(); here != want[0] || total != want[1] {
			t.Errorf("%s: %d and %d", mode, here, total)
		}
	}
}

func TestNotesTellWhatIsMissing(t *testing.T) {
	srv := slacktest.New(t)
	srv.Scopes("app_mentions:read, channels:history,channels:read,chat:write,commands,files:write,groups:history,groups:read,im:history,im:write,mpim:history,reactions:write,users:read")
	a := newAdapter(t, srv, slack.Config{})
	if notes := a.Notes(); len(notes) != 0 {
		t.Errorf("before anything is known: %q", notes)
	}
	listen(t, a, nil)
	srv.Connected(1, 1)
	if notes := a.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "files:read") || !strings.Contains(notes[0], "deploy/slack/manifest.yaml") {
		t.Errorf("notes %q", notes)
	}
}

func TestCheckAsksWhileNothingReceives(t *testing.T) {
	srv := slacktest.New(t)
	a := newAdapter(t, srv, slack.Config{})
	if err := a.Check(t.Context()); err != nil {
		t.Error(err)
	}
	srv.Fail("auth.test", slacktest.Failure{Error: "token_revoked"})
	if err := a.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "install the app again") {
		t.Errorf("check: %v", err)
	}
}
