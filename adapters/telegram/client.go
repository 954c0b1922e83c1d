package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// callError is a call that did not succeed. No part of it holds the token.
type callError struct {
	method string
	reach  bool  // the platform may have got the request
	err    error // a *tgbotapi.Error when the platform answered
}

func (e *callError) Error() string { return fmt.Sprintf("telegram %s: %v", e.method, e.err) }

func (e *callError) Unwrap() error { return e.err }

// call runs a method of the Bot API and decodes its result into out, which may be nil. Errors are *callError.
func (a *Adapter) call(ctx context.Context, method string, p tgbotapi.Params, out any) error {
	return a.callFor(ctx, callWait, method, p, out)
}

func (a *Adapter) callFor(ctx context.Context, limit time.Duration, method string, p tgbotapi.Params, out any) error {
	return a.do(ctx, limit, &transport{client: a.http}, method, p, out)
}

// upload runs a method with a file. The library's own upload sends no length and forgets the code of an error, so the form replaces the body
// of an ordinary call.
func (a *Adapter) upload(ctx context.Context, method string, p tgbotapi.Params, field, name string, data []byte, out any) error {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for k, v := range p {
		if err := w.WriteField(k, v); err != nil {
			return &callError{method: method, err: err}
		}
	}
	part, err := w.CreateFormFile(field, name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return &callError{method: method, err: err}
	}
	t := &transport{client: a.http, form: &body, formType: w.FormDataContentType()}
	return a.do(ctx, uploadWait, t, method, nil, out)
}

func (a *Adapter) do(ctx context.Context, limit time.Duration, t *transport, method string, p tgbotapi.Params, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t.ctx = ctx
	bot := a.bot
	bot.Client = t
	resp, err := bot.MakeRequest(method, p)
	if err == nil && out != nil {
		err = json.Unmarshal(resp.Result, out)
	}
	if err == nil {
		return nil
	}
	var answer *tgbotapi.Error
	if !errors.As(err, &answer) {
		if t.status != 0 {
			err = fmt.Errorf("status %d and no answer that can be read: %w", t.status, err)
		}
	}
	return &callError{method: method, reach: t.reached.Load(), err: a.clean(err)}
}

// transport is the library's HTTP client for one call: it adds the context, bounds the answer and sees how far the request got.
type transport struct {
	ctx      context.Context
	client   *http.Client
	form     *bytes.Buffer // replaces the body
	formType string
	reached  atomic.Bool // there was a connection
	status   int
}

func (t *transport) Do(req *http.Request) (*http.Response, error) {
	req = req.WithContext(httptrace.WithClientTrace(t.ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { t.reached.Store(true) },
	}))
	if t.form != nil {
		req.Body = io.NopCloser(t.form)
		req.GetBody = nil
		req.ContentLength = int64(t.form.Len())
		req.Header.Set("Content-Type", t.formType)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, err
	}
	t.status = resp.StatusCode
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

// clean takes the token out of an error: the address in front of every failure of net/http, and whatever else repeats it.
func (a *Adapter) clean(err error) error {
	var answer *tgbotapi.Error
	if errors.As(err, &answer) {
		answer.Message = a.redact(answer.Message)
		return answer
	}
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

// redact hides the token, plain and as it stands in an escaped address.
func (a *Adapter) redact(s string) string {
	return strings.NewReplacer(a.cfg.Token, "…", url.QueryEscape(a.cfg.Token), "…").Replace(s)
}
