// Package llm talks to language models: any OpenAI-compatible endpoint, and the built-in demo model.
//
// A reply is whole or an error: a stream that ended without the provider's finish reason is no reply, whatever came before it.
package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"paragents/core"
)

// Role says who speaks in a message.
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolReply Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
	Calls   []Call `json:"calls,omitempty"`   // of an assistant
	CallID  string `json:"call_id,omitempty"` // of a tool's reply: the call it answers
}

// Call is one tool call that the model asked for.
type Call = core.Call

// Tool is a tool as offered to the model. Schema is the JSON Schema of its arguments, an object.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Request asks for the next message of a conversation, which must be valid: each call has its reply.
type Request struct {
	Messages []Message
	Tools    []Tool
	// MaxTokens of the reply; 0: the provider's own limit.
	MaxTokens int
}

// Reply is a complete message of the model.
type Reply struct {
	Text   string
	Calls  []Call
	Finish string // stop, tool_calls, length, content_filter
	Model  string
	Usage  core.Usage
}

// Progress is told what happens during a request; either function may be nil. Both are called from the goroutine of Complete.
type Progress struct {
	// Text gets each part of the answer. After a retry the answer starts again: Restart is called first.
	Text    func(part string)
	Restart func()
	// Wait says that the model cannot be asked for a while, and why, in one sentence for people.
	Wait func(reason string, d time.Duration)
}

// Model answers requests. Complete retries what may be retried (429, 5xx, silent and cut streams) within its own limits, keeps to
// Retry-After, and goes on to the next provider; it returns an *Error when it gives up, or the context's error as soon as that ends.
type Model interface {
	Complete(ctx context.Context, r Request, p Progress) (Reply, error)
}

// Fault says what an error of the model means for the prompt.
type Fault string

const (
	FaultAway    Fault = "away"    // not reachable, overloaded or silent, after all retries
	FaultAccount Fault = "account" // insufficient quota, 401, 402, 403: no retry helps until a person acts; the prompt waits
	FaultRequest Fault = "request" // the provider refuses this request
	FaultContext Fault = "context" // the conversation is too long for the model
)

// Error is why the model gave no reply. Text is one sentence for people, with no key, no address with credentials and no raw body.
type Error struct {
	Fault Fault
	Text  string
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("model (%s): %s", e.Fault, e.Text) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
