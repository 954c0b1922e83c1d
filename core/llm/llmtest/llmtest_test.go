package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"paragents/core"
	"paragents/core/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheck(t *testing.T) {
	user := llm.Message{Role: llm.User, Content: "go"}
	call := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.Assistant}
		for _, id := range ids {
			m.Calls = append(m.Calls, llm.Call{ID: core.CallID(id), Name: "read_file", Arguments: `{"path":"a"}`})
		}
		return m
	}
	result := func(id string) llm.Message { return llm.Message{Role: llm.ToolReply, CallID: id, Content: "x"} }
	with := func(change func(*llm.Call)) llm.Message {
		m := call("1")
		change(&m.Calls[0])
		return m
	}
	for name, c := range map[string]struct {
		messages []llm.Message
		refused  string // a part of the reason; "": it is valid
	}{
		"question":                {[]llm.Message{user}, ""},
		"system and question":     {[]llm.Message{{Role: llm.System, Content: "s"}, user}, ""},
		"calls with results":      {[]llm.Message{user, call("1", "2"), result("2"), result("1")}, ""},
		"the same id later":       {[]llm.Message{user, call("1"), result("1"), call("1"), result("1")}, ""},
		"pair of surrogates":      {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `{"a":"\ud83d\uDE00 \\ud83d"}` }), result("1")}, ""},
		"empty result":            {[]llm.Message{user, call("1"), {Role: llm.ToolReply, CallID: "1"}}, ""},
		"nothing":                 {nil, "last message"},
		"only a system text":      {[]llm.Message{{Role: llm.System, Content: "s"}}, "last message"},
		"ends with an answer":     {[]llm.Message{user, {Role: llm.Assistant, Content: "a"}}, "last message"},
		"no result":               {[]llm.Message{user, call("1")}, "no result"},
		"one result of two":       {[]llm.Message{user, call("1", "2"), result("1")}, "no result"},
		"question before result":  {[]llm.Message{user, call("1"), user}, "no result yet"},
		"result of nothing":       {[]llm.Message{user, result("1")}, "nobody made"},
		"two results":             {[]llm.Message{user, call("1"), result("1"), result("1")}, "nobody made"},
		"empty answer":            {[]llm.Message{user, {Role: llm.Assistant, Content: " \n"}, user}, "neither text nor calls"},
		"empty question":          {[]llm.Message{{Role: llm.User}}, "empty"},
		"not UTF-8":               {[]llm.Message{{Role: llm.User, Content: "\xff"}}, "UTF-8"},
		"unknown role":            {[]llm.Message{{Role: "robot", Content: "x"}}, "unknown role"},
		"calls of a user":         {[]llm.Message{{Role: llm.User, Content: "x", Calls: call("1").Calls}}, "only an assistant"},
		"call id of a user":       {[]llm.Message{{Role: llm.User, Content: "x", CallID: "1"}}, "names its call"},
		"id twice":                {[]llm.Message{user, call("1", "1"), result("1"), result("1")}, "used twice"},
		"no id":                   {[]llm.Message{user, call(""), result("")}, "names its call|empty or used twice"},
		"bad name":                {[]llm.Message{user, with(func(c *llm.Call) { c.Name = "a b" }), result("1")}, "bad name"},
		"arguments cut off":       {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `{"a":"` }), result("1")}, "not a JSON object"},
		"arguments are a list":    {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `[]` }), result("1")}, "not a JSON object"},
		"arguments are null":      {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `null` }), result("1")}, "not a JSON object"},
		"arguments are empty":     {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `` }), result("1")}, "not a JSON object"},
		"half a pair":             {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `{"a":"\ud83d x"}` }), result("1")}, "surrogate"},
		"the other half":          {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `{"a":"\uDE00"}` }), result("1")}, "surrogate"},
		"half a pair at the end":  {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `{"a":"\uD83D"}` }), result("1")}, "surrogate"},
		"the first half twice":    {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `{"a":"\uD83D\uD83D"}` }), result("1")}, "surrogate"},
		"escaped backslash first": {[]llm.Message{user, with(func(c *llm.Call) { c.Arguments = `{"a":"\\\uD83D"}` }), result("1")}, "surrogate"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(llm.Request{Messages: c.messages})
			if c.refused == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !slices.ContainsFunc(strings.Split(c.refused, "|"), func(s string) bool { return strings.Contains(err.Error(), s) }) {
				t.Errorf("got %v, want %q", err, c.refused)
			}
		})
	}
	object := json.RawMessage(`{"type":"object"}`)
	for name, tools := range map[string][]llm.Tool{
		"bad name":  {{Name: "a b", Schema: object}},
		"twice":     {{Name: "a", Schema: object}, {Name: "a", Schema: object}},
		"no schema": {{Name: "a"}},
	} {
		if Check(llm.Request{Messages: []llm.Message{user}, Tools: tools}) == nil {
			t.Errorf("tools, %s: not refused", name)
		}
	}
}

func TestServerRefusesWhatProvidersRefuse(t *testing.T) {
	for name, body := range map[string]string{
		"not JSON":       `{`,
		"not UTF-8":      "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}",
		"half a pair":    `{"model":"m","stream":true,"messages":[{"role":"user","content":"\ud800"}]}`,
		"no stream":      `{"model":"m","messages":[{"role":"user","content":"x"}]}`,
		"no content":     `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"x","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1"}]}`,
		"no call's type": `{"model":"m","stream":true,"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"x","arguments":"{}"}}]}]}`,
		"open call":      `{"model":"m","stream":true,"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"x","arguments":"{}"}}]}]}`,
	} {
		s := NewLocal(t, Step{Text: []string{"not used"}})
		resp, err := s.Client().Post(s.URL, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || s.Seen()[0].Refused == nil || !strings.Contains(string(said), "invalid_request_error") {
			t.Errorf("%s: status %d, %s", name, resp.StatusCode, said)
		}
	}
}

func TestScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		s := NewScript(
			Turn{Text: "one two", Parts: []string{"one ", "two"}, Delay: time.Second, Wait: "busy", Restart: true},
			Call(NewCall("1", "read_file", struct{}{})),
			Turn{Err: boom},
			Turn{Text: "half", Block: true},
		)
		var told []string
		progress := llm.Progress{
			Text:    func(s string) { told = append(told, s) },
			Restart: func() { told = append(told, "<restart>") },
			Wait:    func(why string, d time.Duration) { told = append(told, "<"+why+">") },
		}
		ask := func(ctx context.Context) (llm.Reply, error) {
			return s.Complete(ctx, llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "x"}}}, progress)
		}
		began := time.Now()
		if r, err := ask(t.Context()); err != nil || r.Text != "one two" || r.Finish != "stop" {
			t.Errorf("reply %+v, %v", r, err)
		}
		if want := []string{"<busy>", "one ", "two", "<restart>", "one ", "two"}; !slices.Equal(told, want) || time.Since(began) != 5*time.Second {
			t.Errorf("told %q after %v", told, time.Since(began))
		}
		if r, err := ask(t.Context()); err != nil || len(r.Calls) != 1 || r.Finish != "tool_calls" {
			t.Errorf("reply %+v, %v", r, err)
		}
		if _, err := ask(t.Context()); err != boom {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := ask(ctx); err != context.DeadlineExceeded {
			t.Error(err)
		}
		if _, err := s.Complete(t.Context(), llm.Request{}, llm.Progress{}); !isRefused(err) {
			t.Errorf("a bad request: %v", err)
		}
		if _, err := ask(t.Context()); !isRefused(err) || len(s.Requests()) != 6 {
			t.Errorf("after the last turn: %v", err)
		}
	})
}

func isRefused(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Fault == llm.FaultRequest
}
