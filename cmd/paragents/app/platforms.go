package app

import (
	"log/slog"

	"paragents/adapters/slack"
	"paragents/adapters/telegram"
	"paragents/cmd/paragents/config"
	"paragents/core"
)

// Platforms makes the adapters of all configured platforms.
func Platforms(cfg *config.Config, log *slog.Logger) ([]core.Adapter, error) {
	var out []core.Adapter
	if t := cfg.Telegram; t.BotToken.Reveal() != "" {
		ad, err := telegram.New(telegram.Config{Token: t.BotToken.Reveal(), APIURL: t.APIURL.Reveal(), Mode: t.Mode, WebhookURL: t.WebhookURL.Reveal(),
			WebhookSecret: t.SecretToken.Reveal(), Logger: log})
		if err != nil {
			return nil, err
		}
		out = append(out, ad)
	}
	if c := cfg.Slack; c.BotToken.Reveal() != "" {
		ad, err := slack.New(slack.Config{BotToken: c.BotToken.Reveal(), AppToken: c.AppToken.Reveal(), SigningSecret: c.SigningSecret.Reveal(),
			APIURL: c.APIURL.Reveal(), Mode: c.Mode, Logger: log})
		if err != nil {
			return nil, err
		}
		out = append(out, ad)
	}
	return out, nil
}
