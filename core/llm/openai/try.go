package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sashabaranov/go-openai"

	"paragents/core/llm"
)

// afterFinish is how long the usage and the end of the stream may take once the reply is complete. Nothing depends on them.
const afterFinish = 5 * time.Second

// telling passes progress on and knows whether a part of an answer has been told.
type telling struct {
	to   llm.Progress
	told bool
}

func (t *telling) text(part string) {
	if part != "" && t.to.Text != nil {
		t.told = true
		t.to.Text(part)
	}
}

func (t *telling) restart() {
	if t.told && t.to.Restart != nil {
		t.to.Restart()
	}
	t.told = false
}

func (t *telling) wait(reason string, d time.Duration) {
	if t.to.Wait != nil {
		t.to.Wait(reason, d)
	}
}

// try makes one attempt.
func (c *Client) try(ctx context.Context, b *backend, r llm.Request, t *telling, p *pass) (llm.Reply, *failure) {
	t.restart()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(c.cfg.Idle, func() { cancel(ErrSilent) })
	defer silence.Stop()
	limit := c.cfg.Idle

	cfg := openai.DefaultConfig(b.APIKey)
	cfg.BaseURL = b.BaseURL
	cfg.HTTPClient = &wire{b: b, client: c.http, alive: func() { silence.Reset(limit) }}
	stream, err := openai.NewClientWithConfig(cfg).CreateChatCompletionStream(ctx, b.encode(r))
	if err != nil { // what is not ours is go-openai's: it refuses some requests, or could not encode this one
		return llm.Reply{}, c.judge(ctx, err, &failure{fault: llm.FaultRequest, text: "was not asked: " + b.clean(err.Error()), err: err})
	}
	defer stream.Close()
	var j joiner
	for {
		raw, err := stream.RecvRaw()
		if err == nil {
			var e event
			if json.Unmarshal(raw, &e) != nil {
				err = away("sent an event that is not JSON", ErrCut)
			} else {
				p.hear()
				err = j.add(e, t.text)
			}
		}
		if err != nil {
			if j.finish == "" || errors.Is(err, ErrTooLong) {
				return llm.Reply{}, c.judge(ctx, err, away("broke off in the middle of the reply", ErrCut))
			}
			return j.reply(r), nil
		}
		if j.finish != "" {
			limit = min(limit, afterFinish)
			silence.Reset(limit)
		}
	}
}

// judge says what an error of an attempt means; otherwise is for errors that nobody has judged yet.
func (c *Client) judge(ctx context.Context, err error, otherwise *failure) *failure {
	var f *failure
	switch {
	case errors.Is(context.Cause(ctx), ErrSilent):
		return away(fmt.Sprintf("said nothing for %s", c.cfg.Idle), ErrSilent)
	case errors.As(err, &f):
		return f
	}
	return otherwise
}
