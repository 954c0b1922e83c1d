package openai

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"paragents/core"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "sk-test-0123456789"

// dial is a client of the server, with a short idle limit and otherwise the defaults.
func dial(t *testing.T, s *llmtest.Server, change func(*Config)) *Client {
	t.Helper()
	cfg := Config{Providers: []Provider{{BaseURL: s.URL, APIKey: testKey, Model: "m"}}, Idle: time.Second, HTTPClient: s.Client()}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// ask asks c something and returns all that happened, as lines.
func ask(ctx context.Context, c *Client, r llm.Request) (llm.Reply, []string, error) {
	if r.Messages == nil {
		r.Messages = []llm.Message{{Role: llm.User, Content: "hello"}}
	}
	var told []string
	reply, err := c.Complete(ctx, r, llm.Progress{
		Text:    func(part string) { told = append(told, part) },
		Restart: func() { told = append(told, "<restart>") },
		Wait:    func(reason string, d time.Duration) { told = append(told, "<wait "+reason+">") },
	})
	return reply, told, err
}

// fault is what kind of error it is, "" for none.
func fault(t *testing.T, err error) llm.Fault {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an *llm.Error: %v", err)
	}
	return e.Fault
}

func TestComplete(t *testing.T) {
	usage := core.Usage{In: 12, Out: 5, Cached: 3}
	calls := []llm.Call{
		llmtest.NewCall("a", "read_file", map[string]string{"path": "größe/日本.txt"}),
		llmtest.NewCall("b", "run_command", map[string]string{"command": "echo \"hi\" && sleep 1"}),
	}
	for name, step := range map[string]llmtest.Step{
		"streamed": {Reasoning: []string{"hm", "…"}, Text: []string{"The ", "", "answer"}, Calls: calls, Usage: usage},
		"whole":    {Text: []string{"The ", "answer"}, Calls: calls, Usage: usage, Whole: true},
		"bare CR LF, comments, no usage after [DONE]": {Lines: []string{
			": keep-alive\r", "event: x\r", `data:{"error":null,"model":"fake","choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":[{"type":"thinking"},{"type":"text","text":"The "}]}}]}` + "\r", "\r",
			`data: {"choices":[{"delta":{"refusal":"answer","tool_calls":[{"id":"a","function":{"name":"read_file","arguments":{"path":"größe/日本.txt"}}}]}}],"usage":{"prompt_tokens":1}}`,
			`data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"run_command","arguments":"{\"command\":\"echo \\\"hi\\\" \\u0026\\u0026"}},{"function":{"arguments":" sleep 1\"}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":3}}}`,
			"data: [DONE]",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.NewServer(t, step)
			c := dial(t, s, func(c *Config) { c.HTTPClient = nil })
			reply, told, err := ask(t.Context(), c, llm.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if reply.Text != "The answer" || strings.Join(told, "") != "The answer" {
				t.Errorf("text %q, told %q", reply.Text, told)
			}
			if reply.Finish != "tool_calls" || reply.Model != "fake" || reply.Usage != usage {
				t.Errorf("reply %+v", reply)
			}
			if len(reply.Calls) != 2 || reply.Calls[0] != calls[0] || reply.Calls[1].ID != "b" ||
				strings.ReplaceAll(reply.Calls[1].Arguments, `\u0026`, "&") != strings.ReplaceAll(calls[1].Arguments, `\u0026`, "&") {
				t.Errorf("calls %+v", reply.Calls)
			}
			if got := s.Seen()[0].Header.Get("Authorization"); got != "Bearer "+testKey {
				t.Errorf("authorization %q", got)
			}
		})
	}
}

// What odd servers send for two calls, and what it means.
func TestCallsOfOddServers(t *testing.T) {
	both := []string{`call x {"p":1}`, `call y {"p":2}`}
	for name, deltas := range map[string][]string{
		"index 0 for all":         {`{"index":0,"id":"1","function":{"name":"x","arguments":"{\"p\":1}"}}`, `{"index":0,"id":"2","function":{"name":"y","arguments":"{\"p\":2}"}}`},
		"no index, ids":           {`{"id":"1","function":{"name":"x","arguments":"{\"p\""}}`, `{"id":"1","function":{"arguments":":1}"}}`, `{"id":"2","function":{"name":"y","arguments":"{\"p\":2}"}}`},
		"no index, no ids":        {`{"function":{"name":"x","arguments":"{\"p\""}}`, `{"function":{"arguments":":1}"}}`, `{"function":{"name":"y","arguments":"{\"p\":2}"}}`},
		"id and name every time":  {`{"index":0,"id":"1","function":{"name":"x","arguments":"{\"p\""}}`, `{"index":0,"id":"1","function":{"name":"x","arguments":":1}"}}`, `{"index":1,"id":"2","function":{"name":"y","arguments":"{\"p\":2}"}}`},
		"interleaved":             {`{"index":0,"id":"1","function":{"name":"x"}}`, `{"index":1,"id":"2","function":{"name":"y"}}`, `{"index":0,"function":{"arguments":"{\"p\":1}"}}`, `{"index":1,"function":{"arguments":"{\"p\":2}"}}`},
		"ids missing":             {`{"index":0,"id":"","function":{"name":"x","arguments":"{\"p\":1}"}}`, `{"index":1,"function":{"name":"y","arguments":"{\"p\":2}"}}`},
		"the same id, by index":   {`{"index":0,"id":"1","function":{"name":"x","arguments":"{\"p\":1}"}}`, `{"index":1,"id":"1","function":{"name":"y","arguments":"{\"p\":2}"}}`},
		"an id of an older turn":  {`{"index":0,"id":"old","function":{"name":"x","arguments":"{\"p\":1}"}}`, `{"index":1,"id":"2","function":{"name":"y","arguments":"{\"p\":2}"}}`},
		"arguments as objects":    {`{"index":0,"id":"1","function":{"name":"x","arguments":{"p":1}}}`, `{"index":1,"id":"2","function":{"name":"y","arguments":{"p":2}}}`},
		"arguments null, then":    {`{"index":0,"id":"1","function":{"name":"x","arguments":null}}`, `{"index":0,"function":{"arguments":"{\"p\":1}"}}`, `{"index":1,"id":"2","function":{"name":"y","arguments":"{\"p\":2}"}}`},
		"name after the id":       {`{"index":0,"id":"1","function":{}}`, `{"index":0,"function":{"name":"x","arguments":"{\"p\":1}"}}`, `{"index":1,"id":"2","function":{"name":"y","arguments":"{\"p\":2}"}}`},
		"index begins at another": {`{"index":7,"id":"1","function":{"name":"x","arguments":"{\"p\":1}"}}`, `{"index":9,"id":"2","function":{"name":"y","arguments":"{\"p\":2}"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var events []string
			for _, d := range deltas {
				events = append(events, `{"choices":[{"delta":{"tool_calls":[`+d+`]}}]}`)
			}
			events = append(events, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")
			history := []llm.Message{
				{Role: llm.User, Content: "go"},
				{Role: llm.Assistant, Calls: []llm.Call{{ID: "old", Name: "x", Arguments: "{}"}}},
				{Role: llm.ToolReply, CallID: "old", Content: ""},
			}
			var ids [2][]core.CallID
			for i := range ids {
				c := dial(t, llmtest.NewLocal(t, llmtest.Step{Events: events}), nil)
				reply, _, err := ask(t.Context(), c, llm.Request{Messages: history})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, c := range reply.Calls {
					got = append(got, fmt.Sprintf("call %s %s", c.Name, c.Arguments))
					ids[i] = append(ids[i], c.ID)
				}
				if !slices.Equal(got, both) {
					t.Errorf("got %q", got)
				}
			}
			if !slices.Equal(ids[0], ids[1]) {
				t.Errorf("ids differ from time to time: %q", ids)
			}
			all := slices.Concat(ids[0], []core.CallID{"old", ""})
			slices.Sort(all)
			if len(slices.Compact(all)) != 4 {
				t.Errorf("ids are not unique: %q", all)
			}
		})
	}
}

// The model's bad arguments reach the caller as they are, with the finish reason; in the history they are a JSON object for the provider.
func TestB057ArgumentsThatAreNotJSON(t *testing.T) {
	for _, finish := range []string{"tool_calls", "length"} {
		for _, arguments := range []string{`{"path":"a","content":"xx`, `{"verb": open}`, `["a"]`, `"a"`, `null`, ``, ` `, `{"a":1} {"b":2}`} {
			t.Run(finish+" "+arguments, func(t *testing.T) {
				s := llmtest.NewLocal(t,
					llmtest.Step{Calls: []llm.Call{{ID: "1", Name: "write_file", Arguments: arguments}}, Finish: finish},
					llmtest.Step{Text: []string{"ok"}})
				c := dial(t, s, nil)
				reply, _, err := ask(t.Context(), c, llm.Request{})
				if err != nil {
					t.Fatal(err)
				}
				if reply.Finish != finish || len(reply.Calls) != 1 || reply.Calls[0].Arguments != arguments {
					t.Fatalf("reply %+v", reply)
				}
				// The server refuses stored arguments that are not an object.
				_, _, err = ask(t.Context(), c, llm.Request{Messages: []llm.Message{
					{Role: llm.User, Content: "hello"},
					{Role: llm.Assistant, Calls: reply.Calls},
					{Role: llm.ToolReply, CallID: "1", Content: "arguments cut off"},
				}})
				if err != nil {
					t.Fatal(err)
				}
				sent := s.Seen()[1].Messages[1].Calls[0].Arguments
				if strings.TrimSpace(arguments) != "" && !strings.Contains(sent, "invalid_arguments") {
					t.Errorf("the model cannot see what it wrote: %s", sent)
				}
			})
		}
	}
}

// A reply without anything in it is a reply; what to do about it is the agent's.
func TestB058EmptyReply(t *testing.T) {
	for name, step := range map[string]llmtest.Step{
		"nothing":        {},
		"only reasoning": {Reasoning: []string{"I could say something", "or not"}},
		"white space":    {Text: []string{" ", "\n"}},
		"empty list":     {Events: []string{`{"choices":[{"delta":{"content":[]},"finish_reason":"stop"}]}`, "[DONE]"}},
		"null":           {Events: []string{`{"choices":[{"delta":{"content":null,"tool_calls":null},"finish_reason":"stop"}]}`, "[DONE]"}},
		"reasoning as another field": {Events: []string{`{"choices":[{"delta":{"reasoning":"hm","reasoning_details":[{"a":1}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "[DONE]"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.NewLocal(t, step)
			reply, _, err := ask(t.Context(), dial(t, s, nil), llm.Request{})
			if err != nil || strings.TrimSpace(reply.Text) != "" || len(reply.Calls) != 0 || reply.Finish != "stop" {
				t.Errorf("reply %+v, %v", reply, err)
			}
			if n := len(s.Seen()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestB059CutStreamIsNoReply(t *testing.T) {
	call := llmtest.NewCall("1", "write_file", map[string]string{"path": "a.txt", "content": strings.Repeat("x", 50)})
	good := llmtest.Step{Text: []string{"The result is 42."}}
	for name, bad := range map[string]llmtest.Step{
		"connection broken in the text":      {Text: []string{"The result is", " 41"}, Cut: true, Stop: 2},
		"connection broken in the arguments": {Text: []string{"The result is"}, Calls: []llm.Call{call}, Cut: true, Stop: 6},
		"clean end in the arguments":         {Text: []string{"The result is"}, Calls: []llm.Call{call}, Events: []string{`{"choices":[{"delta":{"content":"The result is","tool_calls":[{"index":0,"id":"1","function":{"name":"write_file","arguments":"{\"pa"}}]}}]}`}},
		"[DONE] without a finish reason":     {Text: []string{"The result is"}, Finish: "none"},
		"finish reason error":                {Text: []string{"The result is"}, Finish: "error"},
		"an error line":                      {Lines: []string{`data: {"choices":[{"delta":{"content":"The result is"}}]}`, "", `data: {"error":{"message":"boom","type":"server_error"}}`, ""}},
		"an error line, numeric code":        {Lines: []string{`data: {"choices":[{"delta":{"content":"The result is"}}]}`, `data: {"error":{"message":"boom","code":502},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`}},
		"a bare error line":                  {Lines: []string{`data: {"choices":[{"delta":{"content":"The result is"}}]}`, `{"error":"boom"}`}},
		"half an event":                      {Lines: []string{`data: {"choices":[{"delta":{"content":"The result is"}}]}`, `data: {"choices":[{"del`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reply, told, err := ask(t.Context(), dial(t, llmtest.NewLocal(t, bad, good), nil), llm.Request{})
				if err != nil || reply.Text != "The result is 42." || len(reply.Calls) != 0 {
					t.Fatalf("reply %+v, %v", reply, err)
				}
				restart := slices.Index(told, "<restart>")
				if restart < 1 || strings.Join(told[restart+1:], "") != reply.Text {
					t.Errorf("told %q", told)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				s := llmtest.NewLocal(t).Answer(func(int, llmtest.Seen) llmtest.Step { return bad })
				_, _, err := ask(t.Context(), dial(t, s, nil), llm.Request{})
				if fault(t, err) != llm.FaultAway || len(s.Seen()) != 8 {
					t.Errorf("%d requests, %v", len(s.Seen()), err)
				}
			})
		})
	}
}

// The reply is complete with its finish reason: how the stream ends after that does not matter.
func TestBrokenAfterTheFinishReason(t *testing.T) {
	events := []string{`{"choices":[{"delta":{"content":"done"},"finish_reason":"stop"}]}`}
	for name, step := range map[string]llmtest.Step{
		"clean end": {Events: events},
		"cut":       {Events: events, Cut: true, Stop: 1},
		"silent":    {Events: events, Silent: true, Stop: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := dial(t, llmtest.NewLocal(t, step), func(c *Config) { c.Idle = 2 * time.Minute })
				reply, _, err := ask(t.Context(), c, llm.Request{})
				if err != nil || reply.Text != "done" || time.Since(began) > afterFinish {
					t.Errorf("reply %+v, %v after %v", reply, err, time.Since(began))
				}
			})
		})
	}
}

func TestB060SilentStream(t *testing.T) {
	silent := llmtest.Step{Text: []string{"one ", "two ", "three"}, Silent: true, Stop: 3}
	mute := llmtest.Step{Silent: true}
	good := llmtest.Step{Text: []string{"one two three four"}}

	t.Run("is tried again", func(t *testing.T) {
		s := llmtest.NewServer(t, silent, mute, good) // over a real connection
		c := dial(t, s, func(c *Config) { c.HTTPClient, c.Idle = nil, 200*time.Millisecond })
		reply, told, err := ask(t.Context(), c, llm.Request{})
		if err != nil || reply.Text != "one two three four" {
			t.Fatalf("reply %+v, %v", reply, err)
		}
		if !slices.Contains(told, "<restart>") {
			t.Errorf("told %q", told)
		}
	})
	t.Run("ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := llmtest.NewLocal(t).Answer(func(int, llmtest.Seen) llmtest.Step { return silent })
			_, _, err := ask(t.Context(), dial(t, s, nil), llm.Request{})
			if fault(t, err) != llm.FaultAway || !errors.Is(err, ErrSilent) || !strings.Contains(err.Error(), "said nothing for 1s") {
				t.Error(err)
			}
			if took := time.Since(began); took > 5*time.Minute {
				t.Errorf("took %v", took)
			}
		})
	})
	t.Run("stop works", func(t *testing.T) {
		for name, at := range map[string]time.Duration{"in the silence": 30 * time.Second, "in the wait": 60*time.Second + 100*time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), at)
				defer cancel()
				began := time.Now()
				c := dial(t, llmtest.NewLocal(t, silent), func(c *Config) { c.Idle = time.Minute })
				if _, _, err := ask(ctx, c, llm.Request{}); err != context.DeadlineExceeded {
					t.Errorf("%s: %v", name, err)
				}
				if time.Since(began) != at {
					t.Errorf("%s: after %v, want %v", name, time.Since(began), at)
				}
			})
		}
	})
	t.Run("slow is not silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			slow := llmtest.Step{Reasoning: slices.Repeat([]string{"hm"}, 100), Text: []string{"done"}, Pause: 900 * time.Millisecond}
			comments := llmtest.Step{Lines: append(slices.Repeat([]string{": working"}, 1000), `data: {"choices":[{"delta":{"content":"done"},"finish_reason":"stop"}]}`), Pause: 900 * time.Millisecond}
			c := dial(t, llmtest.NewLocal(t, slow, comments), nil)
			for range 2 {
				if reply, _, err := ask(t.Context(), c, llm.Request{}); err != nil || reply.Text != "done" {
					t.Errorf("reply %+v, %v", reply, err)
				}
			}
		})
	})
	t.Run("not even life is for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			endless := llmtest.Step{Lines: slices.Repeat([]string{": working"}, 10_000), Pause: 900 * time.Millisecond}
			began := time.Now()
			_, _, err := ask(t.Context(), dial(t, llmtest.NewLocal(t, endless), nil), llm.Request{})
			if fault(t, err) != llm.FaultAway || time.Since(began) != 30*time.Minute || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "within 30m0s") {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	})
}
