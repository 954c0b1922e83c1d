package telegram_test

import (
	"strings"
	"testing"

	"paragents/adapters/telegram"
	"paragents/adapters/telegram/telegramtest"
)

func TestNewRefuses(t *testing.T) {
	good := telegram.Config{Token: telegramtest.Token, Mode: telegram.Webhook, WebhookURL: "https://bot.example.test/telegram", WebhookSecret: "s_1-A"}
	if _, err := telegram.New(good); err != nil {
		t.Fatalf("a good configuration: %v", err)
	}
	tests := []struct {
		name   string
		change func(*telegram.Config)
		names  string
	}{
		{"no token", func(c *telegram.Config) { c.Token = "" }, "bot_token"},
		{"token of another form", func(c *telegram.Config) { c.Token = "xoxb-canaryCANARY" }, "bot_token"},
		{"token with a path", func(c *telegram.Config) { c.Token = "4242:canary/../x" }, "bot_token"},
		{"mode", func(c *telegram.Config) { c.Mode = "push" }, "mode"},
		{"address", func(c *telegram.Config) { c.APIURL = "api.example.test" }, "api_url"},
		{"address in the clear", func(c *telegram.Config) { c.APIURL = "http://api.example.test" }, "api_url"},
		{"address of another kind", func(c *telegram.Config) { c.APIURL = "ftp://127.0.0.1" }, "api_url"},
		{"webhook in the clear", func(c *telegram.Config) { c.WebhookURL = "http://8.8.8.8/x" }, "webhook_url"},
		{"no webhook", func(c *telegram.Config) { c.WebhookURL = "" }, "webhook_url"},
		{"no webhook secret", func(c *telegram.Config) { c.WebhookSecret = "" }, "webhook_secret"},
		{"webhook secret", func(c *telegram.Config) { c.WebhookSecret = "a b" }, "webhook_secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := good
			tt.change(&cfg)
			_, err := telegram.New(cfg)
			if err == nil || !strings.Contains(err.Error(), tt.names) {
				t.Errorf("error %v, want one about %s", err, tt.names)
			} else if strings.Contains(err.Error(), "canary") {
				t.Errorf("error shows the token: %v", err)
			}
		})
	}
}

func TestCheckWithoutReceive(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	if err := a.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	srv.Down()
	if err := a.Check(t.Context()); err == nil {
		t.Error("check of a platform that is away says nothing")
	}
}
