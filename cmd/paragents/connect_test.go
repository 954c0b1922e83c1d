package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"paragents/adapters/slack/slacktest"
	"paragents/adapters/telegram/telegramtest"
)

// settings is the file that setup writes.
func (m *machine) settings() string {
	return filepath.Join(m.home, ".config", "paragents", "paragents.yaml")
}

func (m *machine) written() string {
	m.t.Helper()
	raw, err := os.ReadFile(m.settings())
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(raw)
}

// code waits for the code that makes an admin.
func (p *pane) code() string {
	p.m.t.Helper()
	screen := p.shows(`(?m)^    [a-z0-9]{8}$`)
	return strings.TrimSpace(regexp.MustCompile(`(?m)^    [a-z0-9]{8}$`).FindString(screen))
}

// TestSetupSlack: on a terminal, tokens are typed unseen and written only when Slack takes them; who sends the code is the first admin, and what others write meanwhile is
// left for whoever serves.
func TestSetupSlack(t *testing.T) {
	t.Parallel()
	srv := slacktest.New(t)
	m := newMachine(t)
	m.env = append(m.env, "PARAGENTS_SLACK_API_URL="+srv.URL())
	p := m.terminal("setup", "slack")
	p.shows(`Bot token \(xoxb-…\), not shown: `)
	p.types("xoxb-wrong-canary")
	p.shows(`App-level token \(xapp-…\), not shown: `)
	p.types(slacktest.AppToken)
	p.shows("✗ .*invalid_auth")
	if m.written() != "" {
		t.Errorf("a wrong token was written: %s", m.written())
	}
	p.types(slacktest.BotToken)
	p.shows(`(?s)not shown:.*not shown:.*not shown:.*not shown: `)
	p.types(slacktest.AppToken)
	p.shows("✓ a socket can be opened")
	code := p.code()
	bob, ann := srv.Direct(), srv.Direct()
	srv.Say(slacktest.Post{Channel: bob, By: slacktest.Bob, Text: "hello"})
	srv.Say(slacktest.Post{Channel: ann, By: slacktest.Ann, Text: code})
	screen := p.shows("ended with status 0")
	for _, want := range []string{"✓ Ann (slack:" + slacktest.Team + "/" + slacktest.Ann.ID + ") is admin now", "bot @paragents in the workspace Ours", "Next: paragents serve", "https://api.slack.com/apps?new_app=1"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen does not show %q:\n%s", want, screen)
		}
	}
	if strings.Contains(screen, "canary") || strings.Contains(screen, "CANARY") {
		t.Errorf("a token is shown:\n%s", screen)
	}
	if list := srv.Messages(ann, ""); len(list) != 2 || !strings.Contains(list[1].Shown(), "you are admin now, everywhere. Write what is to be done; /paragents help") {
		t.Errorf("the admin reads %+v", list)
	}
	for _, d := range srv.Deliveries() {
		if strings.Contains(string(d.Payload), `"hello"`) && d.Acked {
			t.Error("what was not the code was taken")
		}
	}
	if info, err := os.Stat(m.settings()); err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(m.written(), slacktest.BotToken) || !strings.Contains(m.written(), slacktest.AppToken) {
		t.Errorf("the file: %v, %v", info, err)
	}

	// Once more it is known, and stays as it is.
	out, problems, status := m.run("no\n", "setup", "slack")
	if status != 0 || !strings.Contains(out, "set up already: bot @paragents in the workspace Ours") || !strings.Contains(out, "✓ admin: slack:"+slacktest.Team+"/"+slacktest.Ann.ID) {
		t.Errorf("status %d: %s%s", status, out, problems)
	}
	if out, problems, status = m.run("", "setup"); status != 0 || !strings.Contains(out, "Slack: bot @paragents") || !strings.Contains(out, "paragents setup telegram") {
		t.Errorf("status %d: %s%s", status, out, problems)
	}
	out, problems, _ = m.run("", "doctor")
	if !strings.Contains(out, "✓ slack: bot @paragents in the workspace Ours; Slack does not say which scopes it has; a socket can be opened") {
		t.Errorf("doctor says %s%s", out, problems)
	}
}

// TestSetupStopped: Ctrl-C at a hidden answer ends it, changes nothing, and leaves a terminal that shows what is typed.
func TestSetupStopped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.terminal("setup", "slack")
	p.shows("Bot token")
	p.keys("xoxb-canary")
	p.tmux("send-keys", "C-c")
	p.shows("ended with status 1")
	p.types("typed afterwards")
	screen := p.shows("(?m)^typed afterwards\ntyped afterwards$") // by the terminal, and by cat
	if strings.Contains(screen, "canary") || m.written() != "" {
		t.Errorf("the file holds %q, and the screen shows:\n%s", m.written(), screen)
	}
}

// TestSetupTelegram: from a pipe, and with a webhook in the way.
func TestSetupTelegram(t *testing.T) {
	t.Parallel()
	srv := telegramtest.New(t)
	m := newMachine(t)
	m.env = append(m.env, "PARAGENTS_TELEGRAM_API_URL="+srv.URL())
	if err := os.MkdirAll(filepath.Dir(m.settings()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.settings(), []byte("# mine\nllm: {provider: demo}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, problems, status := m.run("123:wrongcanary\n", "setup", "telegram")
	if status == 0 || !strings.Contains(problems, "Unauthorized") || !strings.Contains(problems, "nothing was changed") || strings.Contains(problems, "canary") {
		t.Errorf("status %d: %s", status, problems)
	}
	if got := m.written(); got != "# mine\nllm: {provider: demo}\n" {
		t.Errorf("it wrote %q", got)
	}
	p := m.terminal("setup", "telegram")
	p.shows("Bot token, not shown: ")
	p.types(telegramtest.Token)
	code := p.code()
	chat := srv.Private(telegramtest.Ann)
	srv.Post(telegramtest.Post{Chat: chat, From: telegramtest.Ann, Text: strings.ToUpper(code)})
	screen := p.shows("ended with status 0")
	if !strings.Contains(screen, fmt.Sprintf("(telegram:%d) is admin now", telegramtest.Ann.ID)) || strings.Contains(screen, telegramtest.Token) {
		t.Errorf("the screen shows:\n%s", screen)
	}
	if got := m.written(); got != "# mine\nllm: {provider: demo}\ntelegram:\n  bot_token: \""+telegramtest.Token+"\"\n" {
		t.Errorf("it wrote %q", got)
	}
	resp, err := srv.Client().PostForm(srv.URL()+"/bot"+telegramtest.Token+"/setWebhook", url.Values{"url": {"http://127.0.0.1:9/secretpath"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() //nolint:errcheck // it was not read
	out, _, _ := m.run("", "doctor")
	if !strings.Contains(out, "a webhook at 127.0.0.1:9 is in the way of polling; paragents serve takes it away") || strings.Contains(out, "secretpath") {
		t.Errorf("doctor says %s", out)
	}
}

// TestSetupRefuses: what outranks the file, and a platform that cannot be reached.
func TestSetupRefuses(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "PARAGENTS_SLACK_API_URL=http://127.0.0.1:1/api/")
	if _, problems, status := m.run("xoxb-1\nxapp-1\n", "setup", "slack"); status == 0 || !strings.Contains(problems, "connection refused") || !strings.Contains(problems, "nothing was changed") {
		t.Errorf("status %d: %s", status, problems)
	}
	if _, problems, status := m.run("xoxp-1\nxapp-1\n", "setup", "slack"); status == 0 || !strings.Contains(problems, "a bot token begins with xoxb-") {
		t.Errorf("status %d: %s", status, problems)
	}
	if _, problems, status := m.run("", "setup", "slack"); status == 0 || !strings.Contains(problems, "read slack.bot_token: EOF; nothing was changed") {
		t.Errorf("status %d: %s", status, problems)
	}
	m.env = append(m.env, "PARAGENTS_SLACK_BOT_TOKEN=xoxb-canary")
	if _, problems, status := m.run("xoxb-1\nxapp-1\n", "setup", "slack"); status == 0 || !strings.Contains(problems, "PARAGENTS_SLACK_BOT_TOKEN is set in the environment") || strings.Contains(problems, "canary") {
		t.Errorf("status %d: %s", status, problems)
	}
	if m.written() != "" {
		t.Errorf("it wrote %q", m.written())
	}
}
