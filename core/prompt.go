package core

import (
	"fmt"
	"time"
)

// Session is one conversation with one agent in one workspace.
type Session struct {
	ID        SessionID `json:"id"`
	Ref       Ref       `json:"ref"`
	Title     string    `json:"title"`
	Workspace string    `json:"workspace"`
	Owner     Person    `json:"owner"`
	Place     Place     `json:"place"` // where it was opened, and where its news go
	Mode      Mode      `json:"mode"`
	Created   time.Time `json:"created"`
	Touched   time.Time `json:"touched"` // last change that a person or the agent made
	Closed    bool      `json:"closed,omitempty"`
	// Queue holds the unfinished prompts in order of acceptance; only the first can be anything but queued, paused or blocked.
	Queue []PromptID `json:"queue,omitempty"`
	// Held is set by stop: the prompts behind the stopped one wait for a person's "run them".
	Held bool `json:"held,omitempty"`
	// About is the message that the session was opened about, if it was; anybody's, and data to the model.
	About *Inbound `json:"about,omitempty"`
	// Last is the newest prompt that ended.
	Last PromptID `json:"last,omitempty"`
	// Worktree is where an isolated session works; nil: in the workspace's directory, with the others.
	Worktree *Worktree `json:"worktree,omitempty"`
}

// PromptState is a state of a prompt.
type PromptState string

const (
	Queued    PromptState = "queued"
	Running   PromptState = "running"
	Waiting   PromptState = "waiting" // for a person's answer
	Blocked   PromptState = "blocked" // by another prompt's claims
	Paused    PromptState = "paused"
	Done      PromptState = "done"
	Failed    PromptState = "failed"
	Cancelled PromptState = "cancelled"
)

// PromptStates is the state machine of a prompt: from each state, the states it may go to. The page on architecture shows this table.
var PromptStates = map[PromptState][]PromptState{
	Queued:    {Running, Blocked, Paused, Cancelled, Failed},
	Running:   {Done, Failed, Cancelled, Waiting, Blocked, Paused, Queued},
	Waiting:   {Queued, Paused, Cancelled},
	Blocked:   {Queued, Cancelled},
	Paused:    {Queued, Cancelled},
	Done:      {},
	Failed:    {},
	Cancelled: {},
}

// Ended reports whether nothing follows the state.
func (s PromptState) Ended() bool { return len(PromptStates[s]) == 0 }

// Word is what people read for the state.
func (s PromptState) Word() string {
	switch s {
	case Waiting:
		return "needs-you"
	case Blocked:
		return "conflict"
	}
	return string(s)
}

// Order is what a person wants of a prompt that a replica is running. It is stored on the prompt, so that it survives every process; the
// replica carries it out and clears it.
type Order string

const (
	OrderNone   Order = ""
	OrderCancel Order = "cancel"
	OrderPause  Order = "pause"
)

// Prompt is one user turn in a session.
type Prompt struct {
	ID          PromptID     `json:"id"`
	Ref         Ref          `json:"ref"`
	Session     SessionID    `json:"session"`
	Author      Person       `json:"author"`
	Place       Place        `json:"place"` // fixed when accepted: everything about the prompt goes there
	Text        string       `json:"text"`
	Message     string       `json:"message,omitempty"` // the platform's id of the message it came from
	Attachments []Attachment `json:"attachments,omitempty"`
	Entered     []string     `json:"entered,omitempty"` // what stands in Text that the author did not write, for people
	State       PromptState  `json:"state"`
	Reason      string       `json:"reason,omitempty"` // why it is in this state, for people
	Order       Order        `json:"order,omitempty"`
	OrderBy     Person       `json:"order_by,omitempty"`
	Accepted    time.Time    `json:"accepted"`
	Started     time.Time    `json:"started,omitzero"`
	Ended       time.Time    `json:"ended,omitzero"`
	// Pending are the approvals that the prompt waits for.
	Pending []ApprovalID `json:"pending,omitempty"`
	// Takeovers counts those in a row between which the transcript did not grow (Mark is its size at the last one); three end the prompt.
	Takeovers int     `json:"takeovers,omitempty"`
	Mark      int64   `json:"mark,omitempty"`
	Denials   int     `json:"denials,omitempty"`
	Turns     int     `json:"turns,omitempty"`
	Extra     int     `json:"extra,omitempty"` // how often a person said continue at a limit
	Usage     Usage   `json:"usage"`
	Trace     TraceID `json:"trace"`
	RetryOf   Ref     `json:"retry_of,omitempty"`
	// Steer are messages given to the model at its next turn.
	Steer []string `json:"steer,omitempty"`
	// Unattended: nobody can be asked; what would be asked is refused, and the prompt ends with the process that wants it.
	Unattended bool `json:"unattended,omitempty"`
	// Unreachable is why nobody can be asked at its place: what would be asked is refused.
	Unreachable string `json:"unreachable,omitempty"`
	// Guess is what the text says that it will write; nil before its first run.
	Guess *Guess `json:"guess,omitempty"`
	// Conflict is what a blocked prompt would write although others hold it. WaitsFor are the paths that somebody chose to wait for.
	Conflict *Conflict `json:"conflict,omitempty"`
	WaitsFor []string  `json:"waits_for,omitempty"`
	Since    time.Time `json:"since,omitzero"` // when it came into its state
	// Question is what a waiting prompt asks when it is not an approval.
	Question string   `json:"question,omitempty"`
	Choices  []string `json:"choices,omitempty"` // that it offers
}

// To moves the prompt to a state, or refuses with ErrRefused and leaves it.
func (p *Prompt) To(next PromptState, reason string) error {
	for _, s := range PromptStates[p.State] {
		if s == next {
			p.State, p.Reason = next, reason
			return nil
		}
	}
	return fmt.Errorf("%w: prompt %s is %s and cannot become %s", ErrRefused, p.Ref, p.State.Word(), next.Word())
}

// Usage is what a prompt cost.
type Usage struct {
	In     int64 `json:"in"`  // tokens sent
	Out    int64 `json:"out"` // tokens received
	Cached int64 `json:"cached,omitempty"`
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage { return Usage{u.In + v.In, u.Out + v.Out, u.Cached + v.Cached} }

// Attachment is a file by reference; the runner fetches it.
type Attachment struct {
	ID   string `json:"id"` // the platform's
	Name string `json:"name"`
	Type string `json:"type,omitempty"` // media type as the platform says
	Size int64  `json:"size,omitempty"` // bytes; 0: not known
}
