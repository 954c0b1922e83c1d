package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"paragents/core"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
)

func TestRequest(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)
	r := llm.Request{
		MaxTokens: 500,
		Tools:     []llm.Tool{{Name: "read_file", Description: "Reads a file.", Schema: schema}},
		Messages: []llm.Message{
			{Role: llm.System, Content: "You are a test."},
			{Role: llm.User, Content: "not UTF-8: \xff\xc3\x28 \xed\xa0\x80"},
			{Role: llm.Assistant, Content: "Reading.", Calls: []llm.Call{{ID: "1", Name: "read_file", Arguments: `{"path":"a\ud800"}`}}},
			{Role: llm.ToolReply, CallID: "1"},
		},
	}
	for model, field := range map[string]string{"m": `"max_tokens":500`, "gpt-5-mini": `"max_completion_tokens":500`} {
		s := llmtest.NewLocal(t, llmtest.Step{Text: []string{"ok"}})
		c := dial(t, s, func(c *Config) { c.Providers[0].Model = model })
		if _, _, err := ask(t.Context(), c, r); err != nil {
			t.Fatal(err)
		}
		seen := s.Seen()[0]
		if raw := string(seen.Raw); !strings.Contains(raw, field) || !strings.Contains(raw, `"include_usage":true`) || strings.Contains(raw, `ud800`) {
			t.Errorf("body %s", raw)
		}
		if got := seen.Messages[1].Content; got != "not UTF-8: \ufffd\ufffd( \ufffd\ufffd\ufffd" {
			t.Errorf("user's text %q", got)
		}
		if got := seen.Messages[3].Content; got != noOutput {
			t.Errorf("empty result %q", got)
		}
		if len(seen.Tools) != 1 || seen.Tools[0].Name != "read_file" || string(seen.Tools[0].Schema) != string(schema) {
			t.Errorf("tools %+v", seen.Tools)
		}
	}
}

// Some servers refuse to be asked for the usage.
func TestRequestWithoutUsage(t *testing.T) {
	s := llmtest.NewLocal(t).Answer(func(_ int, r llmtest.Seen) llmtest.Step {
		if strings.Contains(string(r.Raw), "stream_options") {
			return llmtest.Step{Status: 400, Body: `{"message":"Unrecognized request argument supplied: stream_options"}`}
		}
		return llmtest.Step{Text: []string{"ok"}}
	})
	c := dial(t, s, nil)
	for range 2 {
		if _, _, err := ask(t.Context(), c, llm.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Seen()) != 3 {
		t.Errorf("%d requests, want 3", len(s.Seen()))
	}
}

// What the library refuses to send is no trouble of the provider.
func TestRequestRefusedByLibrary(t *testing.T) {
	c := dial(t, llmtest.NewLocal(t), nil)
	_, _, err := ask(t.Context(), c, llm.Request{Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`{`)}}})
	if fault(t, err) != llm.FaultRequest || !strings.Contains(err.Error(), "was not asked") {
		t.Error(err)
	}
}

// Whatever a reply holds, it arrives as it was sent.
func TestReplySurvivesTheWire(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		step := llmtest.Step{
			Text:  rapid.SliceOf(rapid.String()).Draw(rt, "text"),
			Usage: core.Usage{In: rapid.Int64Range(1, 1e6).Draw(rt, "in"), Out: rapid.Int64Range(0, 1e6).Draw(rt, "out")},
			Whole: rapid.Bool().Draw(rt, "whole"),
		}
		for i := range rapid.IntRange(0, 4).Draw(rt, "calls") {
			id := core.CallID("call" + string(rune('a'+i)))
			step.Calls = append(step.Calls, llm.Call{ID: id, Name: "tool", Arguments: rapid.String().Draw(rt, "arguments")})
		}
		reply, told, err := ask(t.Context(), dial(t, llmtest.NewLocal(t, step), nil), llm.Request{})
		if err != nil {
			rt.Fatal(err)
		}
		if want := strings.Join(step.Text, ""); reply.Text != want || strings.Join(told, "") != want {
			rt.Errorf("text %q told %q, want %q", reply.Text, told, want)
		}
		if len(reply.Calls) != len(step.Calls) || reply.Usage != step.Usage {
			rt.Fatalf("reply %+v, want %+v", reply, step)
		}
		for i, c := range reply.Calls {
			if c != step.Calls[i] {
				rt.Errorf("call %+v, want %+v", c, step.Calls[i])
			}
		}
	})
}

// Whatever a server sends, the request ends, and a reply is one that had a finish reason.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		"", "<html>", "[", "{}", `[{"error":"x"}]`, "data: [DONE]\n", "data:\n\n", "data: null\n", ": x\r\n\r\n",
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n",
		"data: {\"error\":{\"message\":[1],\"code\":{}}}\n", "{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[{}]},\"finish_reason\":\"stop\"}]}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, llmtest.NewLocal(t), func(c *Config) {
				c.HTTPClient, c.Attempts = &http.Client{Transport: canned(body)}, 1
			})
			reply, _, err := ask(t.Context(), c, llm.Request{})
			if err == nil && !strings.Contains(body, "finish_reason") && !strings.Contains(body, `\u`) {
				t.Errorf("a reply without a finish reason: %+v", reply)
			}
			if err != nil {
				fault(t, err)
			}
		})
	})
}

type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(c))), Request: r}, nil
}
