package llmtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/llm"
)

// Turn is one reply of a Script.
type Turn struct {
	Text  string
	Calls []llm.Call
	// Finish is the reason; default: tool_calls with calls, else stop.
	Finish string
	Usage  core.Usage
	// Parts are told as progress instead of the whole Text at once.
	Parts []string
	// Delay passes before each part and before the end.
	Delay time.Duration
	// Block waits after the parts until the context ends.
	Block bool
	// Wait is told as a wait before everything else, and Restart as a new beginning after the parts, which are then told again.
	Wait    string
	Restart bool
	// Err is returned instead of the reply, after the parts.
	Err error
}

// Say is a turn that answers.
func Say(text string) Turn { return Turn{Text: text} }

// Call is a turn that makes calls.
func Call(calls ...llm.Call) Turn { return Turn{Calls: calls} }

// Script is an llm.Model that replies what it was told to. It may be used by many goroutines and under synctest.
type Script struct {
	mu       sync.Mutex
	turns    []Turn
	answer   func(n int, r llm.Request) Turn
	requests []llm.Request
}

var _ llm.Model = (*Script)(nil)

// NewScript replies with the turns in order; a request after the last is refused.
func NewScript(turns ...Turn) *Script { return &Script{turns: turns} }

// NewFunc replies with what answer makes of the request number n, from 0. It is called by one goroutine at a time.
func NewFunc(answer func(n int, r llm.Request) Turn) *Script { return &Script{answer: answer} }

// Requests are those so far, refused ones included.
func (s *Script) Requests() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]llm.Request(nil), s.requests...)
}

// Complete implements llm.Model. Requests that a provider would refuse get FaultRequest and use up no turn.
func (s *Script) Complete(ctx context.Context, r llm.Request, p llm.Progress) (llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return llm.Reply{}, err
	}
	turn, err := s.next(r)
	if err != nil {
		return llm.Reply{}, &llm.Error{Fault: llm.FaultRequest, Text: "the script refuses: " + err.Error(), Err: err}
	}
	if turn.Wait != "" && p.Wait != nil {
		p.Wait(turn.Wait, turn.Delay)
	}
	parts := turn.Parts
	if len(parts) == 0 && turn.Text != "" {
		parts = []string{turn.Text}
	}
	if err := tell(ctx, turn, parts, p); err != nil {
		return llm.Reply{}, err
	}
	if turn.Restart {
		if p.Restart != nil {
			p.Restart()
		}
		if err := tell(ctx, turn, parts, p); err != nil {
			return llm.Reply{}, err
		}
	}
	if turn.Block {
		<-ctx.Done()
	}
	if err := rest(ctx, turn.Delay); err != nil {
		return llm.Reply{}, err
	}
	if turn.Err != nil {
		return llm.Reply{}, turn.Err
	}
	reply := llm.Reply{Text: turn.Text, Calls: turn.Calls, Finish: turn.Finish, Model: "script", Usage: turn.Usage}
	if reply.Finish == "" {
		reply.Finish = finish(turn.Calls)
	}
	return reply, nil
}

// next takes the turn for the request.
func (s *Script) next(r llm.Request) (Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = append(s.requests, r)
	if err := Check(r); err != nil {
		return Turn{}, err
	}
	if s.answer != nil {
		return s.answer(n, r), nil
	}
	if len(s.turns) == 0 {
		return Turn{}, fmt.Errorf("request %d has no turn", n)
	}
	turn := s.turns[0]
	s.turns = s.turns[1:]
	return turn, nil
}

func tell(ctx context.Context, turn Turn, parts []string, p llm.Progress) error {
	for _, part := range parts {
		if err := rest(ctx, turn.Delay); err != nil {
			return err
		}
		if p.Text != nil {
			p.Text(part)
		}
	}
	return nil
}

// rest waits for d; the error is the context's.
func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func finish(calls []llm.Call) string {
	if len(calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}
