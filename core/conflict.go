package core

import (
	"fmt"
	"strings"
	"time"
)

// Guess is what a prompt will probably write, inferred from its text before its first run.
type Guess struct {
	Actions    []string `json:"actions,omitempty"`
	Writes     []string `json:"writes,omitempty"` // all paths that were found, however unsure
	Claims     []string `json:"claims,omitempty"` // what it reserves before it runs
	Confidence float64  `json:"confidence"`       // 0 to 1
	Notes      []string `json:"notes,omitempty"`
	Asked      bool     `json:"asked,omitempty"` // a model was asked, too
}

// Conflict says what a prompt would write although other live prompts have reserved it.
type Conflict struct {
	Paths  []string `json:"paths"`  // its own claims that overlap, sorted
	Owners []Rival  `json:"owners"` // who holds them, sorted by prompt
	// Cycle names the sessions that wait for each other in a circle, this one among them; none of them goes on by itself.
	Cycle []Ref `json:"cycle,omitempty"`
}

// Rival is a live prompt that has reserved what another one wants, as it was when they met.
type Rival struct {
	Prompt    PromptID    `json:"prompt_id"`
	PromptRef Ref         `json:"prompt"`
	SessionID SessionID   `json:"session_id"`
	Session   Ref         `json:"session"`
	Title     string      `json:"title"`
	Author    Person      `json:"author"`
	Place     Place       `json:"place,omitzero"`
	Paths     []string    `json:"paths"` // its claims that overlap
	State     PromptState `json:"state"`
	Reason    string      `json:"reason,omitempty"`
	Asks      bool        `json:"asks,omitempty"` // it waits for an approval
	Since     time.Time   `json:"since"`          // when it came into the state
}

// ConflictState says what an EventConflict is about; it stands in Event.State.
type ConflictState string

const (
	ConflictOpen       ConflictState = "open"       // a person has to choose
	ConflictWaits      ConflictState = "waits"      // it goes on when the others are done
	ConflictFree       ConflictState = "free"       // they are, and it does
	ConflictOverridden ConflictState = "overridden" // By let it write all the same
	ConflictCancelled  ConflictState = "cancelled"
	ConflictTheirs     ConflictState = "theirs" // to an owner: By let another session write what it holds
	ConflictCycle      ConflictState = "cycle"  // to the others of a circle
	ConflictFound      ConflictState = "found"  // it has happened: a command wrote what another session holds
)

// Settled reports whether nobody has to decide about the conflict any more.
func (s ConflictState) Settled() bool {
	return s == ConflictFree || s == ConflictOverridden || s == ConflictCancelled
}

// ConflictMode says what happens to a prompt that would write what another one holds.
type ConflictMode string

const (
	AskConflicts      ConflictMode = "ask"      // a person chooses; without a choice nothing runs
	WaitConflicts     ConflictMode = "wait"     // it waits by itself
	OverrideConflicts ConflictMode = "override" // it writes all the same, and the owner is told
)

// Collision is the error of a run that would write what other live prompts have reserved. Nothing ran; the outcome is Blocked.
type Collision struct {
	Conflict Conflict
}

func (c *Collision) Error() string { return c.Conflict.String() }

// Unwrap makes a collision a refusal.
func (c *Collision) Unwrap() error { return ErrRefused }

// String says it for people.
func (c Conflict) String() string {
	return fmt.Sprintf("would write %s, which %s", strings.Join(c.Paths, ", "), holds(c.Owners))
}

func holds(owners []Rival) string {
	refs := make([]string, len(owners))
	for i, o := range owners {
		refs[i] = string(o.Session)
	}
	if len(refs) == 1 {
		return "session " + refs[0] + " holds"
	}
	return "sessions " + strings.Join(refs, ", ") + " hold"
}
