package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	slackapi "github.com/slack-go/slack"

	"paragents/core"
)

// newClient copies a client, or makes one, so that it follows no redirect: no other host shall see the token, and a download that leads to the sign-in
// page shall not end in that page.
func newClient(base *http.Client) *http.Client {
	c := http.Client{}
	if base != nil {
		c = *base
	} else {
		dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
		c.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dialer.DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2:   true,
			MaxConnsPerHost:     128, // a call above that waits within its own limit, and then is certainly not sent
			MaxIdleConnsPerHost: 128,
			IdleConnTimeout:     30 * time.Second,
		}
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// transport is the library's HTTP client: it bounds the answers and tells call how far its request got.
type transport struct{ client *http.Client }

type reachedKey struct{}

func (t transport) Do(req *http.Request) (*http.Response, error) {
	if reached, ok := req.Context().Value(reachedKey{}).(*atomic.Bool); ok {
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { reached.Store(true) },
		}))
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &answerBody{Reader: io.LimitReader(resp.Body, maxAnswer), body: resp.Body}
	return resp, nil
}

// answerBody reads the rest of a body when it is closed, so that the connection can be used again.
type answerBody struct {
	io.Reader
	body io.Closer
}

func (b *answerBody) Close() error {
	io.CopyN(io.Discard, b.Reader, 4096) //nolint:errcheck // then the connection is not used again
	return b.body.Close()
}

// call runs do within a limit. what names it in the error, which is a *core.SendError. repeatable calls do no harm when they happen twice.
func (a *Adapter) call(ctx context.Context, what string, limit time.Duration, repeatable bool, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var reached atomic.Bool
	err := do(context.WithValue(ctx, reachedKey{}, &reached))
	if err == nil {
		return nil
	}
	f := &core.SendError{Fault: core.FaultRetry}
	var advice string
	var answer slackapi.SlackErrorResponse
	var limited *slackapi.RateLimitedError
	var status slackapi.StatusCodeError
	switch {
	case errors.As(err, &limited):
		f.Fault, f.After = core.FaultRate, max(limited.RetryAfter, time.Second)
	case errors.As(err, &answer):
		if f.Fault, advice = meaning(answer); f.Fault == core.FaultUnclear && repeatable {
			f.Fault = core.FaultRetry
		}
		if f.Fault == core.FaultRate {
			f.After = time.Minute
		}
	case errors.As(err, &status) && status.Code == http.StatusTooManyRequests:
		f.Fault, f.After = core.FaultRate, time.Minute
	case errors.As(err, &status) && status.Code < 500:
		f.Fault = core.FaultRefused
	case reached.Load() && !repeatable:
		f.Fault = core.FaultUnclear
	}
	if advice != "" {
		advice = ": " + advice
	}
	f.Err = fmt.Errorf("slack %s: %w%s", what, a.clean(err), advice)
	return f
}

// meaning says what the platform's refusal means for a message, and what a person can do about it.
func meaning(e slackapi.SlackErrorResponse) (core.SendFault, string) {
	switch e.Err {
	case "channel_not_found":
		return core.FaultGone, "the channel does not exist any more, or is private and the bot is not in it; invite the bot there with /invite"
	case "not_in_channel", "user_not_in_channel":
		return core.FaultGone, "not a member of the channel; invite the bot there with /invite"
	case "is_archived":
		return core.FaultGone, "the channel is archived; unarchive it, or go on in another channel"
	case "message_not_found", "thread_not_found":
		return core.FaultGone, "the message was deleted"
	case "cant_update_message", "edit_window_closed":
		return core.FaultGone, "the message cannot be changed any more; a new one is needed"
	case "user_not_found", "users_not_found", "cannot_dm_bot", "user_disabled":
		return core.FaultGone, "the person is not there any more"
	case "user_not_visible", "not_allowed":
		return core.FaultGone, "the person belongs to another workspace, and has to accept that they are written to alone; ask them in the channel"
	case "expired_url", "used_url":
		return core.FaultGone, "Slack takes private answers for half an hour, and five at most"
	case "msg_too_long", "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "markdown_text_conflict", "invalid_arguments":
		text := "Slack refuses the form of the message"
		if len(e.ResponseMetadata.Messages) > 0 {
			text += " (" + strings.Join(e.ResponseMetadata.Messages, "; ") + ")"
		}
		return core.FaultMarkup, text
	case "ratelimited", "rate_limited", "message_limit_exceeded":
		return core.FaultRate, "too many messages"
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout":
		return core.FaultUnclear, "Slack failed"
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired":
		return core.FaultRetry, "Slack does not take the token; check slack.bot_token and slack.app_token, or install the app again"
	case "missing_scope":
		return core.FaultRefused, "the app lacks the scope " + e.Needed + "; update it from deploy/slack/manifest.yaml and install it again"
	case "restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel", "restricted_action_non_threadable_channel",
		"restricted_action_thread_locked", "ekm_access_denied", "team_access_not_granted":
		return core.FaultRefused, "an administrator of the workspace forbids posting here; ask them, or use another channel"
	case "trigger_expired", "expired_trigger_id", "trigger_exchanged", "exchanged_trigger_id":
		return core.FaultRefused, "the press is too old; press again"
	}
	return core.FaultRefused, ""
}

// refuse is the error for what is not even tried.
func refuse(format string, args ...any) error {
	return &core.SendError{Fault: core.FaultRefused, Err: fmt.Errorf(format, args...)}
}

// code is the platform's name of an error, "" when it did not answer with one.
func code(err error) string {
	var answer slackapi.SlackErrorResponse
	if errors.As(err, &answer) {
		return answer.Err
	}
	return ""
}

// read calls a method that only reads, and decodes the answer into out. Its errors are those of the library, for call to judge.
func (a *Adapter) read(ctx context.Context, method string, args url.Values, out any) error {
	return a.readAs(ctx, a.cfg.BotToken, method, args, out)
}

func (a *Adapter) readAs(ctx context.Context, token, method string, args url.Values, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.APIURL+method, strings.NewReader(args.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := transport{a.http}.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode == http.StatusTooManyRequests {
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil {
			seconds = 1
		}
		return &slackapi.RateLimitedError{RetryAfter: time.Duration(seconds) * time.Second}
	}
	if resp.StatusCode != http.StatusOK {
		return slackapi.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer slackapi.SlackResponse
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if err := answer.Err(); err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}

// clean takes addresses, which can hold tickets, and tokens out of an error.
func (a *Adapter) clean(err error) error {
	for {
		var u *url.Error
		if !errors.As(err, &u) {
			break
		}
		err = u.Err
	}
	if text := err.Error(); a.redact(text) != text {
		return errors.New(a.redact(text))
	}
	return err
}

func (a *Adapter) redact(s string) string {
	for _, secret := range []string{a.cfg.BotToken, a.cfg.AppToken, a.cfg.SigningSecret} {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "…")
		}
	}
	return s
}

// ours reports whether an address belongs to Slack, or to the configured API host: only there goes a token, and only there an answer.
func (a *Adapter) ours(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	api, err := url.Parse(a.cfg.APIURL)
	if err == nil && u.Scheme == api.Scheme && strings.EqualFold(u.Host, api.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	for _, domain := range []string{"slack.com", "slack-gov.com"} {
		if u.Scheme == "https" && (host == domain || strings.HasSuffix(host, "."+domain)) {
			return true
		}
	}
	return false
}
