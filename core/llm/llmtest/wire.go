package llmtest

import (
	"encoding/json"

	"paragents/core"
	"paragents/core/llm"
)

// The wire forms, as OpenAI documents them.
type (
	wireChunk struct {
		ID      string       `json:"id"`
		Object  string       `json:"object"`
		Model   string       `json:"model"`
		Choices []wireChoice `json:"choices"`
		Usage   *wireUsage   `json:"usage"`
	}
	wireChoice struct {
		Index   int          `json:"index"`
		Delta   *wireMessage `json:"delta,omitempty"`
		Message *wireMessage `json:"message,omitempty"`
		Finish  *string      `json:"finish_reason"`
	}
	wireMessage struct {
		Role      string     `json:"role,omitempty"`
		Content   *string    `json:"content,omitempty"`
		Reasoning string     `json:"reasoning_content,omitempty"`
		Calls     []wireCall `json:"tool_calls,omitempty"`
	}
	wireCall struct {
		Index    *int        `json:"index,omitempty"`
		ID       core.CallID `json:"id,omitempty"`
		Type     string      `json:"type,omitempty"`
		Function struct {
			Name      string `json:"name,omitempty"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	wireUsage struct {
		In      int64 `json:"prompt_tokens"`
		Out     int64 `json:"completion_tokens"`
		Total   int64 `json:"total_tokens"`
		Details struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	wireError struct {
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type"`
			Code    string `json:"code"`
		} `json:"error"`
	}
)

// ErrorBody is an error as OpenAI writes it.
func ErrorBody(message, kind, code string) string {
	var e wireError
	e.Error.Message, e.Error.Type, e.Error.Code = message, kind, code
	return encode(e)
}

// argumentPiece is how many bytes of arguments go into one event: few, so that every join is tried.
const argumentPiece = 7

// lines are the lines of the stream, each with the empty line that ends an event.
func (s Step) lines() []string {
	var out []string
	if s.Lines != nil {
		for _, l := range s.Lines {
			out = append(out, l+"\n")
		}
		return out
	}
	for _, e := range s.events() {
		out = append(out, "data: "+e+"\n\n")
	}
	return out
}

func (s Step) events() []string {
	if s.Events != nil {
		return s.Events
	}
	var out []string
	send := func(m wireMessage, finish *string) {
		out = append(out, encode(wireChunk{ID: "chatcmpl-1", Object: "chat.completion.chunk", Model: "fake", Choices: []wireChoice{{Delta: &m, Finish: finish}}}))
	}
	empty := ""
	send(wireMessage{Role: "assistant", Content: &empty}, nil)
	for _, r := range s.Reasoning {
		send(wireMessage{Reasoning: r}, nil)
	}
	for _, t := range s.Text {
		send(wireMessage{Content: &t}, nil)
	}
	left := make([]string, len(s.Calls))
	for i, c := range s.Calls {
		w := wireCall{Index: &i, ID: c.ID, Type: "function"}
		w.Function.Name = c.Name
		left[i] = c.Arguments
		send(wireMessage{Calls: []wireCall{w}}, nil)
	}
	for more := true; more; {
		more = false
		for i := range left {
			n := min(argumentPiece, len(left[i]))
			if n == 0 {
				continue
			}
			for n < len(left[i]) && left[i][n]&0xc0 == 0x80 { // not inside a character
				n++
			}
			w := wireCall{Index: &i}
			w.Function.Arguments, left[i] = left[i][:n], left[i][n:]
			send(wireMessage{Calls: []wireCall{w}}, nil)
			more = true
		}
	}
	if f := s.finish(); f != "none" {
		send(wireMessage{}, &f)
	}
	if s.Usage != (core.Usage{}) {
		out = append(out, encode(wireChunk{ID: "chatcmpl-1", Object: "chat.completion.chunk", Model: "fake", Choices: []wireChoice{}, Usage: s.usage()}))
	}
	return append(out, "[DONE]")
}

// whole is the reply as one JSON body.
func (s Step) whole() string {
	text, f := "", s.finish()
	for _, t := range s.Text {
		text += t
	}
	m := wireMessage{Role: "assistant", Content: &text}
	for _, c := range s.Calls {
		w := wireCall{ID: c.ID, Type: "function"}
		w.Function.Name, w.Function.Arguments = c.Name, c.Arguments
		m.Calls = append(m.Calls, w)
	}
	return encode(wireChunk{ID: "chatcmpl-1", Object: "chat.completion", Model: "fake", Choices: []wireChoice{{Message: &m, Finish: &f}}, Usage: s.usage()})
}

func (s Step) usage() *wireUsage {
	u := &wireUsage{In: s.Usage.In, Out: s.Usage.Out, Total: s.Usage.In + s.Usage.Out}
	u.Details.Cached = s.Usage.Cached
	return u
}

func (s Step) finish() string {
	if s.Finish != "" {
		return s.Finish
	}
	return finish(s.Calls)
}

// NewCall is a call with arguments that marshal, for scripts.
func NewCall(id core.CallID, name string, arguments any) llm.Call {
	return llm.Call{ID: id, Name: name, Arguments: encode(arguments)}
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // a test passed what does not marshal
	}
	return string(raw)
}
