package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// ApprovalState is a state of an approval.
type ApprovalState string

const (
	Pending   ApprovalState = "pending"
	Approved  ApprovalState = "approved"
	Denied    ApprovalState = "denied"    // by a person, and by nothing else
	Expired   ApprovalState = "expired"   // nobody answered in time
	Withdrawn ApprovalState = "withdrawn" // by stop or cancel
)

// ApprovalStates is the state machine of an approval.
var ApprovalStates = map[ApprovalState][]ApprovalState{
	Pending:   {Approved, Denied, Expired, Withdrawn},
	Approved:  {},
	Denied:    {},
	Expired:   {},
	Withdrawn: {},
}

// Scope is how far an approval reaches.
type Scope string

const (
	Once       Scope = "once"
	ForSession Scope = "session" // stores the offered rules for the session
	Always     Scope = "always"  // stores them for the workspace; admins
)

// Action is what exactly would happen: the part of an approval that its digest covers. What runs is what was shown, or nothing.
type Action struct {
	Tool string `json:"tool"`
	// Input is the arguments as the model sent them.
	Input json.RawMessage `json:"input"`
	// Show is the whole action as a person reads it.
	Show string `json:"show"`
	// Dir is where it runs.
	Dir string `json:"dir"`
	// Scripts are the files that the action would execute by name, with the SHA-256 of what is in them now.
	Scripts map[string]string `json:"scripts,omitempty"`
}

// Digest is the SHA-256 of the action in hex.
func (a Action) Digest() string {
	raw, err := json.Marshal(a)
	if err != nil { // Input is not JSON; everything else always marshals
		raw, _ = json.Marshal(Action{Tool: a.Tool, Input: nil, Show: a.Show + "\x00" + string(a.Input), Dir: a.Dir, Scripts: a.Scripts})
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Approval is a pending question whether one exact action may run.
type Approval struct {
	ID      ApprovalID `json:"id"`
	Ref     Ref        `json:"ref"`
	Session SessionID  `json:"session"`
	// SessionRef, PromptRef and Title are for cards: they need no further read.
	SessionRef Ref      `json:"session_ref"`
	PromptRef  Ref      `json:"prompt_ref"`
	Title      string   `json:"title"`
	Prompt     PromptID `json:"prompt"`
	Call       CallID   `json:"call"`
	Author     Person   `json:"author"` // of the prompt
	Place      Place    `json:"place"`
	Action     Action   `json:"action"`
	Digest     string   `json:"digest"`
	Rule       string   `json:"rule"` // why it is asked, in one sentence
	Writes     []string `json:"writes,omitempty"`
	Hosts      []string `json:"hosts,omitempty"`
	// Entered is what came into the conversation with the prompt that its author did not write there: nobody has checked it.
	Entered []string `json:"entered,omitempty"`
	// Facts are the files that the action names and the git HEAD, with digests, as they were when it was asked: a yes that has grown old counts only while they
	// are the same.
	Facts map[string]string `json:"facts,omitempty"`
	// Offers are the narrow rules that "for this session" and "always here" would store; empty: neither is offered.
	Offers  []string      `json:"offers,omitempty"`
	Wider   []string      `json:"wider,omitempty"`   // what may be stored instead, where a program and its sub-command are known: with any arguments
	Confirm string        `json:"confirm,omitempty"` // the target to repeat in a second press
	Group   []ApprovalID  `json:"group,omitempty"`   // all that are asked on one card, in order, this one included
	Number  int           `json:"number"`            // n of Of on the card
	Of      int           `json:"of"`
	State   ApprovalState `json:"state"`
	Scope   Scope         `json:"scope,omitempty"`
	By      Person        `json:"by,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Created time.Time     `json:"created"`
	Expires time.Time     `json:"expires"`
	Decided time.Time     `json:"decided,omitzero"`
	Used    time.Time     `json:"used,omitzero"` // when the action started; it starts at most once
	// Reminded says how far reminding people of it is: 1, once; 2, for the last time.
	Reminded int     `json:"reminded,omitempty"`
	Trace    TraceID `json:"trace"`
	// Copies are where else it is asked. What becomes of it is shown there too.
	Copies []Copy `json:"copies,omitempty"`
	// Asked are people who may not answer it, and asked those who may.
	Asked []Person `json:"asked,omitempty"`
}

// Copy is a place besides a prompt's own where its approvals are asked. With To the place has no channel yet: it is that person's conversation with the bot.
type Copy struct {
	Place Place  `json:"place"`
	To    Person `json:"to,omitempty"`
}

// Key names the copy among those of an approval.
func (c Copy) Key() string {
	if c.To != "" {
		return string(c.To)
	}
	return c.Place.Key()
}

// To decides the approval. One that is decided already stays as it is: ErrDecided says by whom.
func (a *Approval) To(next ApprovalState, by Person, reason string, at time.Time) error {
	if a.State != Pending {
		if a.By == "" {
			return fmt.Errorf("%w: %s %s at %s", ErrDecided, a.Ref, a.State, a.Decided.UTC().Format("15:04:05"))
		}
		return fmt.Errorf("%w: %s was %s by %s at %s", ErrDecided, a.Ref, a.State, a.By.ID(), a.Decided.UTC().Format("15:04:05"))
	}
	if !slices.Contains(ApprovalStates[a.State], next) {
		return fmt.Errorf("%w: approval %s is %s and cannot become %s", ErrRefused, a.Ref, a.State, next)
	}
	a.State, a.By, a.Reason, a.Decided = next, by, reason, at
	return nil
}
