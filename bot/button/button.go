// Package button is what buttons mean: a platform is given an opaque token, which leads to a stored document, so that any replica can follow a press.
package button

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"time"

	"paragents/bot/phrase"
	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// Press is what a button does: the document that its token leads to.
type Press struct {
	Do        Verb              `json:"do"`
	Session   core.SessionID    `json:"session,omitempty"`
	Prompt    core.PromptID     `json:"prompt,omitempty"`
	Approval  core.ApprovalID   `json:"approval,omitempty"`
	Approvals []core.ApprovalID `json:"approvals,omitempty"` // all at once
	Command   string            `json:"command,omitempty"`   // with doCommand: the command line
	For       core.Person       `json:"for,omitempty"`       // only this person may press it
	Scope     core.Scope        `json:"scope,omitempty"`
	Wide      bool              `json:"wide,omitempty"` // with Scope: the wider rules
	New       bool              `json:"new,omitempty"`  // with doMove: a session of its own

	// Somebody who asked to be let in, where, and the role that they would get.
	Asker core.Person `json:"asker,omitempty"`
	At    core.Place  `json:"at,omitzero"`
	Role  string      `json:"role,omitempty"`

	// A message that came late: what it was, and the event that brought it.
	Event   string            `json:"event,omitempty"`
	Text    string            `json:"text,omitempty"`
	Message string            `json:"message,omitempty"`
	Files   []core.Attachment `json:"files,omitempty"`
	Entered []string          `json:"entered,omitempty"`
}

type Verb string

const (
	DoApprove  Verb = "approve"
	DoScope    Verb = "scope" // show what a wider yes would store, and ask for it
	DoDeny     Verb = "deny"
	DoAskFor   Verb = "ask-for"  // ask who may decide
	DoReason   Verb = "reason"   // ask why not
	DoDenyWhy  Verb = "deny-why" // the answer to that
	DoConfirm  Verb = "confirm"  // the second press of a dangerous yes
	DoResume   Verb = "resume"
	DoCancel   Verb = "cancel"
	DoRunHeld  Verb = "run-held"
	DoDropHeld Verb = "drop-held"
	DoCommand  Verb = "command"
	DoRunLate  Verb = "run-late"
	DoDropLate Verb = "drop-late"
	DoAsk      Verb = "ask"   // to be let in
	DoGrant    Verb = "grant" // Role to Asker
	DoMove     Verb = "move"  // take the prompt out of its session: with Session or New, give it there, else ask where
)

// kept is longer than an approval waits.
const kept = 8 * 24 * time.Hour

// Set collects what the buttons of a message lead to.
type Set struct {
	presses map[string]Press
}

func (b *Set) Add(label, style string, p Press) core.Button {
	if b.presses == nil {
		b.presses = map[string]Press{}
	}
	token := newToken()
	b.presses[token] = p
	return core.Button{Label: label, Token: token, Style: style, Key: phrase.Key(label)}
}

// Put stores them, so that any replica can follow a press.
func (b *Set) Put(batch *state.Batch) {
	for token, p := range b.presses {
		batch.Put(state.ButtonKey(token), p, kept)
	}
}

// newToken draws what a button carries: 128 random bits.
func newToken() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Store stores them alone.
func (b *Set) Store(ctx context.Context, st store.Store) error {
	var batch state.Batch
	b.Put(&batch)
	_, err := batch.Commit(ctx, st)
	return err
}

// Empty reports whether there are none.
func (b *Set) Empty() bool { return len(b.presses) == 0 }
