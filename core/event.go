package core

import (
	"encoding/json"
	"time"
)

// EventType names what happened in a run.
type EventType string

const (
	EventTurn      EventType = "turn"            // the model is asked; Turn
	EventText      EventType = "text"            // a part of an answer that is still being written; Text
	EventCall      EventType = "tool_call"       // ID, Tool, Input
	EventResult    EventType = "tool_result"     // ID, OK, Output, Cut
	EventNotice    EventType = "notice"          // Text: a wait, a retry, a repair
	EventApproval  EventType = "approval"        // Request, Tool, Input, Rule, State, By and Approvals
	EventConflict  EventType = "conflict"        // Paths, Owner, Conflict, State (a ConflictState), By
	EventQuestion  EventType = "question"        // Text, Choices
	EventAnswer    EventType = "answer"          // Text
	EventEnd       EventType = "result"          // State, Error, Turns, Tokens: exactly one for each prompt
	EventReminder  EventType = "reminder"        // Request, Tool, Show: an approval still waits
	EventCompacted EventType = "compacted"       // older turns were shortened; Text
	EventWork      EventType = "work"            // State (a WorkState), Text, Paths, By: what lies in an isolated session's worktree, or became of it
	EventUncertain EventType = "outcome_unknown" // ID, Tool, Input: a call began and its end was not seen
)

// Choices of questions. What each does is the bot's to know: continue and ask again resume the prompt, stop and close cancel it.
const (
	ChoiceContinue = "Continue"
	ChoiceStop     = "Stop"
	ChoiceAgain    = "Ask again"
	ChoiceClose    = "Close"
	ChoiceTryAgain = "Try again"
	ChoiceRunThem  = "Run them"
	ChoiceDropThem = "Drop them"
)

// Event is what a run has to say, platform-neutral. The same type goes to chats, to `exec --json` and into the outbox. Progress (turn,
// text, tool_call, tool_result, notice) may be lost on the way to another process; everything else is kept until it was delivered.
type Event struct {
	Type    EventType `json:"type"`
	Time    time.Time `json:"time"`
	Session Ref       `json:"session"`
	Prompt  Ref       `json:"prompt"`
	Title   string    `json:"title,omitempty"`

	Turn   int             `json:"turn,omitempty"`
	ID     CallID          `json:"id,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	Show   string          `json:"show,omitempty"` // the call in one line
	OK     *bool           `json:"ok,omitempty"`
	Output string          `json:"output,omitempty"`
	Cut    bool            `json:"cut,omitempty"`

	Request   Ref           `json:"request,omitempty"`
	Rule      string        `json:"rule,omitempty"`
	State     string        `json:"state,omitempty"`
	By        Person        `json:"by,omitempty"`
	Approvals []ApprovalID  `json:"approvals,omitempty"` // one card
	Paths     []string      `json:"paths,omitempty"`
	Owner     Ref           `json:"owner,omitempty"`
	Conflict  *Conflict     `json:"conflict,omitempty"`
	Text      string        `json:"text,omitempty"`
	Choices   []string      `json:"choices,omitempty"`
	Error     string        `json:"error,omitempty"`
	Turns     int           `json:"turns,omitempty"`
	Tokens    int64         `json:"tokens,omitempty"`
	Took      time.Duration `json:"took_ns,omitempty"`
	Files     []string      `json:"files,omitempty"` // changed
	Trace     TraceID       `json:"trace_id,omitempty"`
}

// Progress reports whether losing the event on the way to another process is harmless.
func (e Event) Progress() bool {
	switch e.Type {
	case EventTurn, EventText, EventCall, EventResult, EventNotice, EventCompacted:
		return true
	}
	return false
}

// Asks reports whether a prompt waits for people to answer the event.
func (e Event) Asks() bool {
	switch e.Type {
	case EventApproval:
		return e.State == string(Pending)
	case EventConflict:
		return e.State == string(ConflictOpen)
	case EventQuestion, EventReminder:
		return true
	}
	return false
}

// Letter is an event in an outbox lane: what to say, where, and to whom it is addressed.
type Letter struct {
	Event     Event     `json:"event"`
	SessionID SessionID `json:"session_id"`
	PromptID  PromptID  `json:"prompt_id,omitempty"`
	Place     Place     `json:"place"`
	Reply     string    `json:"reply,omitempty"` // the message that it answers
	Asker     Person    `json:"asker,omitempty"`
	Loud      bool      `json:"loud,omitempty"` // notify: needs you, or finished after a while
	// Copy says that it is one for others than those at the prompt's place. That it cannot be sent holds up nothing.
	Copy *Copy `json:"copy,omitempty"`
}
