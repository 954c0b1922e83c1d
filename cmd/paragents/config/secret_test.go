package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// TestSecretsPrintAsNothing tries every way in which a configuration could end up in a log.
func TestSecretsPrintAsNothing(t *testing.T) {
	c := Default()
	c.Slack.BotToken = NewSecret("hunter2")
	c.Store.URL = "redis+sentinel://user:hunter2@a:1,b:2/primary"
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
		fmt.Fprintf(&out, verb+"\n", *c)
		fmt.Fprintf(&out, verb+verb+"\n", c.Slack.BotToken, &c.Slack.BotToken)
		fmt.Fprintf(&out, verb+"\n", c.Store.URL)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("configuration", "all", c, "token", c.Slack.BotToken, "url", c.Store.URL)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(data)
	out.WriteString(Show(c))
	out.WriteString(errors.Join(fmt.Errorf("connect %s", c.Store.URL), fmt.Errorf("%w", &Problem{Text: c.Slack.BotToken.String()})).Error())
	if text := out.String(); strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	if c.Slack.BotToken.Reveal() != "hunter2" || c.Slack.BotToken.String() != "[hidden]" || c.Slack.AppToken.String() != "" {
		t.Error("a secret does not know its text")
	}
	if !slices.Equal(c.Secrets(), []string{"hunter2", "hunter2"}) {
		t.Errorf("secrets %q", c.Secrets())
	}
}

func TestURLHidesItsPassword(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"redis://localhost:6379/0":        "redis://localhost:6379/0",
		"redis://u@localhost":             "redis://u@localhost",
		"redis://u:p@localhost:6379/0":    "redis://u:[hidden]@localhost:6379/0",
		"redis://:p/x?y#z@localhost":      "redis://:[hidden]@localhost",
		"redis+sentinel://:p@a:1,b:2/m/0": "redis+sentinel://:[hidden]@a:1,b:2/m/0",
		"u:p@localhost":                   "u:[hidden]@localhost",
		"https://a/b?c=d&api_key=k&e=f":   "https://a/b?c=d&api_key=[hidden]&e=f",
		"file:/srv/a@b:c/state.db":        "file:/srv/a@b:c/state.db",
	} {
		if got := URL(in).String(); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := URL("redis://u:a%2Fb@h?token=t").passwords(); !slices.Equal(got, []string{"a%2Fb", "a/b", "t"}) {
		t.Errorf("got %q", got)
	}
}
