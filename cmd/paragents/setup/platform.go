package setup

import (
	"log/slog"

	"paragents/adapters/slack"
	"paragents/adapters/telegram"
	"paragents/cmd/paragents/config"
	"paragents/core"
	manifest "paragents/deploy/slack"
)

// Platform is what has to be known to connect one.
type Platform struct {
	Name    string // of its section in the configuration
	Title   string
	Steps   string   // what to do on the platform's own pages
	Secrets []Secret // asked in this order
	Hello   string   // how a person writes to the bot
	// Connect makes an adapter of the configuration with what was typed, by key. It opens no connection; its error says what is wrong with a secret.
	Connect func(cfg *config.Config, typed map[string]string) (core.Adapter, error)
}

// Secret is one thing that is typed unseen.
type Secret struct{ Key, Label string }

// Slack is Slack, as its mode wants it.
func Slack(cfg *config.Config) Platform {
	p := Platform{Name: "slack", Title: "Slack",
		Steps: "1. Open this page, choose your workspace, and create the app:\n\n" + manifest.CreateURL() + "\n\n" +
			"2. Install it (Install App), and copy the Bot User OAuth Token; it begins with xoxb-.\n" +
			"3. Under Basic Information, App-Level Tokens, generate one with the scope connections:write; it begins with xapp-.",
		Secrets: []Secret{{"bot_token", "Bot token (xoxb-…)"}, {"app_token", "App-level token (xapp-…)"}},
		Hello:   "find paragents under Apps, and write in its Messages tab",
		Connect: func(cfg *config.Config, typed map[string]string) (core.Adapter, error) {
			return slack.New(slack.Config{BotToken: typed["bot_token"], AppToken: typed["app_token"], SigningSecret: typed["signing_secret"],
				APIURL: cfg.Slack.APIURL.Reveal(), Mode: cfg.Slack.Mode, Logger: slog.New(slog.DiscardHandler)})
		}}
	if cfg.Slack.Mode == slack.HTTP {
		p.Steps = "1. Open this page, choose your workspace, create the app, and give it your address as the manifest's first lines say:\n\n" + manifest.CreateURL() + "\n\n" +
			"2. Install it (Install App), and copy the Bot User OAuth Token; it begins with xoxb-.\n" +
			"3. Copy the Signing Secret under Basic Information."
		p.Secrets[1] = Secret{"signing_secret", "Signing secret"}
	}
	return p
}

// Telegram is Telegram, by polling: a webhook needs more than a token, and is configured by hand.
func Telegram(*config.Config) Platform {
	return Platform{Name: "telegram", Title: "Telegram",
		Steps:   "1. In Telegram, write /newbot to @BotFather, and choose a name.\n2. Copy the token that it gives; it looks like 123456789:AA….",
		Secrets: []Secret{{"bot_token", "Bot token"}},
		Hello:   "open the bot's chat, press Start, and write to it",
		Connect: func(cfg *config.Config, typed map[string]string) (core.Adapter, error) {
			t := cfg.Telegram
			return telegram.New(telegram.Config{Token: typed["bot_token"], APIURL: t.APIURL.Reveal(), Mode: t.Mode, WebhookURL: t.WebhookURL.Reveal(),
				WebhookSecret: t.SecretToken.Reveal(), Logger: slog.New(slog.DiscardHandler)})
		}}
}

// configured are the secrets of a platform that the configuration has, by key.
func (p Platform) configured(cfg *config.Config) map[string]string {
	all := map[string]map[string]config.Secret{
		"slack":    {"bot_token": cfg.Slack.BotToken, "app_token": cfg.Slack.AppToken, "signing_secret": cfg.Slack.SigningSecret},
		"telegram": {"bot_token": cfg.Telegram.BotToken},
	}
	out := map[string]string{}
	for _, s := range p.Secrets {
		if v := all[p.Name][s.Key].Reveal(); v != "" {
			out[s.Key] = v
		}
	}
	return out
}
