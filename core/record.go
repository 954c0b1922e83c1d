package core

import "time"

// Call is one tool call that the model asked for. Arguments is what the model wrote, not yet known to be JSON.
type Call struct {
	ID        CallID `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// RecordKind says what a record of a transcript holds.
type RecordKind string

const (
	RecordUser      RecordKind = "user"      // what a person wrote: Person, Text
	RecordAssistant RecordKind = "assistant" // a complete answer of the model: Text, Calls, Usage
	RecordIntent    RecordKind = "intent"    // a call with side effects is about to start: Call, Digest, Approval, Claims
	RecordResult    RecordKind = "result"    // how a call ended: Call, Ending, Text, Seen, Changed
	RecordNote      RecordKind = "note"      // something beside the conversation that the model is given: Text
)

// Ending says how a call ended.
type Ending string

const (
	EndOK          Ending = "ok"
	EndError       Ending = "error"       // the tool says why
	EndInvalid     Ending = "invalid"     // the call could not be understood; nothing ran
	EndRefused     Ending = "refused"     // a rule denies it, or nobody could be asked
	EndDenied      Ending = "denied"      // by a person
	EndUnanswered  Ending = "unanswered"  // the approval expired
	EndInterrupted Ending = "interrupted" // it never started, or was ended before it was finished: stop, shutdown, the end of its prompt
	EndUnknown     Ending = "unknown"     // it started, and its end was not seen
)

// Record is one record of a session's transcript: an append-only log that holds everything needed to go on after any crash.
type Record struct {
	Kind   RecordKind `json:"kind"`
	Prompt PromptID   `json:"prompt"`
	Time   time.Time  `json:"time,omitzero"`

	Person Person `json:"person,omitempty"`
	Text   string `json:"text,omitempty"`
	Calls  []Call `json:"calls,omitempty"`
	Usage  *Usage `json:"usage,omitempty"`
	Finish string `json:"finish,omitempty"`

	Call     CallID            `json:"call,omitempty"`
	Tool     string            `json:"tool,omitempty"`
	Show     string            `json:"show,omitempty"` // of an intent: what runs, in one line
	Digest   string            `json:"digest,omitempty"`
	Approval ApprovalID        `json:"approval,omitempty"`
	Claims   []string          `json:"claims,omitempty"`
	Checks   []string          `json:"checks,omitempty"`  // of an intent: the call in the terms of the rules, Bash(…), Write(…)
	Entered  []string          `json:"entered,omitempty"` // of a note: what it holds that its prompt's author did not write, for people
	Ending   Ending            `json:"ending,omitempty"`
	Cut      bool              `json:"cut,omitempty"`
	Seen     map[string]string `json:"seen,omitempty"`    // SHA-256 of files that the model knows
	Changed  []string          `json:"changed,omitempty"` // paths written
	Changes  []Change          `json:"changes,omitempty"` // those of Changed of which it is known what they held
}

// Change is what a call did to one file: the SHA-256 of its content before and after. What it held before lies in the run directory of the prompt, as
// before/<SHA-256>; "" when there was no file.
type Change struct {
	Path   string `json:"path"` // relative to the workspace, without links
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
}
