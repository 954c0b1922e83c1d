// Package demo is the built-in model: no network, no guessing, the same answer to the same conversation. It turns a few plain English
// requests into real tool calls, answers from their real results, and says of everything else that it is only a demo.
package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"paragents/core"
	"paragents/core/llm"
)

// Name is what the model calls itself in replies.
const Name = "demo"

// Model is an llm.Model without state.
type Model struct{}

var _ llm.Model = Model{}

// New is the demo model.
func New() Model { return Model{} }

// Complete implements llm.Model. Of the conversation it reads the last message of the user and what came after it: how far its plan has
// come shows in the ids of its calls. The only error is the context's.
func (Model) Complete(ctx context.Context, r llm.Request, p llm.Progress) (llm.Reply, error) {
	s := &speaker{ctx: ctx, progress: p}
	request, after := last(r.Messages)
	steps, strange := parse(request)
	var calls []llm.Call
	if len(steps) == 0 {
		s.say(introduction(strange))
	} else {
		calls = proceed(s, r, steps, request, outcomes(after))
	}
	if s.err != nil {
		return llm.Reply{}, s.err
	}
	reply := llm.Reply{Text: strings.TrimSpace(s.text.String()), Calls: calls, Finish: "stop", Model: Name}
	if len(calls) > 0 {
		reply.Finish = "tool_calls"
	}
	reply.Usage = usage(r, reply)
	return reply, nil
}

// proceed takes the next step of the plan, or answers when there is none. got are the results so far, by step.
func proceed(s *speaker, r llm.Request, steps []step, request string, got map[int][]string) []llm.Call {
	next := 0
	for i := range steps {
		if _, ok := got[i]; ok {
			next = i + 1
		}
	}
	stop := trouble(steps[:next], got)
	ahead := next // the next step with calls
	for ahead < len(steps) && steps[ahead].calls == nil {
		ahead++
	}
	if stop == "" && ahead < len(steps) {
		stop = missing(steps[ahead], r.Tools)
		if stop == "" {
			talk(s, steps[next:ahead])
			return requestCalls(steps[ahead], ahead, request, len(r.Messages))
		}
	}
	s.say(report(steps[:next], got))
	switch {
	case stop == "":
		talk(s, steps[next:])
	case next < len(steps):
		s.say("I stopped, because " + stop + ". Not done:\n\n" + titles(steps[next:]))
	}
	return nil
}

func talk(s *speaker, steps []step) {
	for _, t := range steps {
		t.talk(s)
	}
}

// trouble says which call failed; "": none.
func trouble(steps []step, got map[int][]string) string {
	for i, st := range steps {
		for n, c := range st.calls {
			if n < len(got[i]) && failed(got[i][n]) {
				return c.title + " did not work"
			}
		}
	}
	return ""
}

// missing says which tool of the step is not offered; "": none.
func missing(st step, offered []llm.Tool) string {
	for _, c := range st.calls {
		if !slices.ContainsFunc(offered, func(t llm.Tool) bool { return t.Name == c.tool }) {
			return fmt.Sprintf("%s needs the tool `%s`, which is not offered here", c.title, c.tool)
		}
	}
	return ""
}

// attached begins what a message holds behind the request when files or a quoted message came with it.
const attached = "\n\nAttached "

// last is the last request of the user, without what came with it, and what came after it.
func last(messages []llm.Message) (string, []llm.Message) {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.User {
			request, _, _ := strings.Cut(messages[i].Content, attached)
			return request, messages[i+1:]
		}
	}
	return "", nil
}

// requestCalls are the calls of step number i. Their ids tell the step, and differ between requests.
func requestCalls(st step, i int, request string, messages int) []llm.Call {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", messages, request))
	var out []llm.Call
	for n, c := range st.calls {
		id := fmt.Sprintf("demo_%d_%d_%s", i, n, hex.EncodeToString(sum[:6]))
		out = append(out, llm.Call{ID: core.CallID(id), Name: c.tool, Arguments: c.arguments})
	}
	return out
}

// outcomes are the results of the calls in messages, by step and in the order of the calls. What has no result is "".
func outcomes(messages []llm.Message) map[int][]string {
	results := map[string]string{}
	for _, m := range messages {
		if m.Role == llm.ToolReply {
			results[m.CallID] = llm.Unframe(m.Content)
		}
	}
	got := map[int][]string{}
	for _, m := range messages {
		for _, c := range m.Calls {
			var step, n int
			if _, err := fmt.Sscanf(string(c.ID), "demo_%d_%d_", &step, &n); err == nil {
				got[step] = append(got[step], results[string(c.ID)])
			}
		}
	}
	return got
}

// usage is a guess in the manner of tokens: a quarter of the characters.
func usage(r llm.Request, out llm.Reply) core.Usage {
	var u core.Usage
	for _, m := range r.Messages {
		u.In += int64(len(m.Content))
		for _, c := range m.Calls {
			u.In += int64(len(c.Arguments))
		}
	}
	u.Out = int64(len(out.Text))
	for _, c := range out.Calls {
		u.Out += int64(len(c.Arguments))
	}
	return core.Usage{In: u.In/4 + 1, Out: u.Out/4 + 1}
}
