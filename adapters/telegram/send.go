package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"paragents/core"
)

// Send implements core.Adapter. Text is HTML; a message without it is sent as Plain. With a File the text stands under it and may have
// 1024 UTF-16 units. Only and Marker mean nothing here.
func (a *Adapter) Send(ctx context.Context, m core.Message) (string, error) {
	p, err := compose(m)
	if err != nil {
		return "", err
	}
	p.AddBool("disable_notification", m.Silent)
	if m.Reply != "" {
		reply, err := strconv.ParseInt(m.Reply, 10, 64)
		if err != nil {
			return "", refuse("reply to message %q: not a message id", m.Reply)
		}
		set(p, "reply_parameters", replyParameters{Message: reply, Anyway: true})
	}
	var sent struct {
		ID int64 `json:"message_id"`
	}
	if m.File != nil {
		if len(m.File.Data) == 0 || len(m.File.Data) > maxUpload {
			return "", refuse("send file %s: %d bytes; Telegram takes from 1 byte to 50 MB", m.File.Name, len(m.File.Data))
		}
		err = a.upload(ctx, "sendDocument", p, "document", m.File.Name, m.File.Data, &sent)
	} else {
		err = a.call(ctx, "sendMessage", p, &sent)
	}
	if err != nil {
		return "", fault(err, false)
	}
	return id(sent.ID), nil
}

// Edit implements core.Adapter. The keyboard becomes m.Rows: none takes it away. A File cannot be changed, only the text under it: it is
// set to say that the message has one.
func (a *Adapter) Edit(ctx context.Context, message string, m core.Message) error {
	if _, err := strconv.ParseInt(message, 10, 64); err != nil {
		return refuse("edit message %q: not a message id", message)
	}
	p, err := compose(m)
	if err != nil {
		return err
	}
	delete(p, "message_thread_id")
	p["message_id"] = message
	method := "editMessageText"
	if m.File != nil {
		method = "editMessageCaption"
	}
	err = a.call(ctx, method, p, nil)
	var answer *tgbotapi.Error
	if errors.As(err, &answer) && strings.Contains(answer.Message, "message is not modified") {
		return nil
	}
	if err != nil {
		return fault(err, true)
	}
	return nil
}

// compose makes the parameters that sending and editing share, and refuses what the platform would never take.
func compose(m core.Message) (tgbotapi.Params, error) {
	p, err := to(m.Place)
	if err != nil {
		return nil, err
	}
	field, longest := "text", maxText
	if m.File != nil {
		field, longest = "caption", maxCaption
	} else {
		set(p, "link_preview_options", linkPreview{Off: true})
	}
	text := m.Text
	if text == "" {
		text = m.Plain
	} else {
		p["parse_mode"] = "HTML"
	}
	// There is room in every text that keeps to Capabilities.
	if m.Repeat && units(text)+len(repeatMark) <= longest {
		text += repeatMark
	}
	// Without markup what is sent is what is seen; with it only the platform can tell.
	if p["parse_mode"] == "" && units(text) > longest {
		return nil, refuse("send %d UTF-16 units: Telegram takes %d", units(text), longest)
	}
	if text == "" && m.File == nil {
		return nil, refuse("send an empty message")
	}
	p.AddNonEmpty(field, text)
	k, wrong := keyboardOf(m.Rows)
	if wrong != "" {
		return nil, refuse("send buttons: %s", wrong)
	}
	if len(k.Rows) > 0 {
		set(p, "reply_markup", k)
	}
	return p, nil
}

// to begins the parameters of a call that concerns a place.
func to(place core.Place) (tgbotapi.Params, error) {
	if _, err := strconv.ParseInt(place.Channel, 10, 64); err != nil || place.Platform != platform {
		return nil, refuse("send to %s: not a Telegram chat", place.Key())
	}
	p := tgbotapi.Params{"chat_id": place.Channel}
	if place.Thread != "" && place.Thread != id(generalTopic) {
		p["message_thread_id"] = place.Thread
	}
	return p, nil
}

// set adds a parameter that is JSON. Our own types always can be.
func set[T keyboard | replyParameters | linkPreview | []reaction | []command | commandScope](p tgbotapi.Params, key string, v T) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	p[key] = string(b)
}

func refuse(format string, args ...any) error {
	return &core.SendError{Fault: core.FaultRefused, Err: fmt.Errorf(format, args...)}
}

// fault says what a failed call means for its message. repeatable calls do no harm when they happen twice.
func fault(err error, repeatable bool) error {
	f := &core.SendError{Fault: core.FaultRetry, Err: err}
	var call *callError
	var answer *tgbotapi.Error
	switch {
	case errors.As(err, &answer):
		answered(f, answer)
	case errors.As(err, &call) && call.reach && !repeatable:
		f.Fault = core.FaultUnclear
	}
	return f
}

// answered reads the platform's refusal. The API has codes for few things; the rest is told apart by its English.
func answered(f *core.SendError, answer *tgbotapi.Error) {
	text := strings.ToLower(answer.Message)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case answer.Code == http.StatusTooManyRequests || answer.RetryAfter > 0:
		f.Fault, f.After = core.FaultRate, time.Duration(max(answer.RetryAfter, 1))*time.Second
	case answer.MigrateToChatID != 0:
		f.Fault = core.FaultGone
		f.MovedTo = core.Place{Platform: platform, Channel: id(answer.MigrateToChatID)}
	case answer.Code == http.StatusForbidden:
		f.Fault = core.FaultGone
	case answer.Code == http.StatusUnauthorized, answer.Code == http.StatusNotFound, answer.Code >= 500:
		// The token is being changed, or the API says itself that it failed.
	case has("can't parse entities"):
		f.Fault = core.FaultMarkup
	case has("chat not found", "thread not found", "topic_deleted", "topic_closed", "topic_id_invalid", "to edit not found", "can't be edited",
		"message_id_invalid", "peer_id_invalid", "user is deactivated", "chat was deleted", "chat was upgraded"):
		f.Fault = core.FaultGone
	default:
		f.Fault = core.FaultRefused
	}
}
