package telegram

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// webhookInfo is what the platform knows of a webhook.
type webhookInfo struct {
	URL       string `json:"url"`
	Waiting   int    `json:"pending_update_count"`
	LastError string `json:"last_error_message"`
	ErrorAt   int64  `json:"last_error_date"`
}

// Probe implements core.Prober: the account, and how updates come in. It changes nothing.
func (a *Adapter) Probe(ctx context.Context) ([]string, error) {
	var me account
	if err := a.call(ctx, "getMe", nil, &me); err != nil {
		return nil, err
	}
	a.know(&me)
	found := []string{"bot @" + me.Username}
	var hook webhookInfo
	if err := a.call(ctx, "getWebhookInfo", nil, &hook); err != nil {
		return found, err
	}
	at := ""
	if u, err := url.Parse(hook.URL); err == nil {
		at = u.Host // the path may be a secret
	}
	switch {
	case a.cfg.Mode == Polling && hook.URL == "":
		found = append(found, "no webhook in the way of polling")
	case a.cfg.Mode == Polling:
		found = append(found, fmt.Sprintf("a webhook at %s is in the way of polling; paragents serve takes it away", at))
	case hook.URL == "":
		found = append(found, "no webhook is set yet; paragents serve sets it")
	case hook.URL != a.cfg.WebhookURL:
		found = append(found, fmt.Sprintf("the webhook at %s is another one; paragents serve sets its own", at))
	default:
		found = append(found, "the webhook is set")
	}
	if hook.Waiting > 0 {
		found = append(found, fmt.Sprintf("%d updates wait", hook.Waiting))
	}
	if hook.LastError != "" && hook.URL != "" {
		found = append(found, fmt.Sprintf("Telegram's last call failed at %s: %s", time.Unix(hook.ErrorAt, 0).UTC().Format(time.DateTime), a.redact(hook.LastError)))
	}
	return found, nil
}
