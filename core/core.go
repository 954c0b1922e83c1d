// Package core holds the nouns of Paragents and its state machines: what a session, a prompt, an approval, a place and an event are.
//
// Nothing here does I/O, and nothing here imports another package of the project, so everybody can. Every identifier is a type of its
// own: a swapped argument does not compile. Times are the store's, never this machine's; whoever fills one in took it from the store.
package core

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Identifiers are ULIDs on the store's clock, so that they sort by age.
type (
	SessionID  string
	PromptID   string
	ApprovalID string
	// ReplicaID names one run of one process. A process whose lease ran out takes a new one.
	ReplicaID string
	// CallID is the model's own id of a tool call, unique within a prompt.
	CallID string
	// TraceID joins log lines, receipts and audit entries of one prompt.
	TraceID string
)

// NewID draws an identifier for something that began at t, the store's time.
func NewID[T ~string](t time.Time) T {
	return T(ulid.MustNew(ulid.Timestamp(t), rand.Reader).String())
}

// Ref is the short name that people use: six characters without look-alikes, unique among all that is stored.
type Ref string

// RefAlphabet has no vowels, so that no ref spells a word, and none of 0 1 a e i l o u.
const RefAlphabet = "23456789bcdfghjkmnpqrstvwxyz"

// RefLen is the length of every Ref.
const RefLen = 6

// NewRef draws a random ref. Whether it is free is for the commit that stores it to find out.
func NewRef() Ref {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // never fails: it aborts the program instead
	n := binary.LittleEndian.Uint64(b[:])
	var out [RefLen]byte
	for i := range out {
		out[i] = RefAlphabet[n%uint64(len(RefAlphabet))]
		n /= uint64(len(RefAlphabet))
	}
	return Ref(out[:])
}

// LooksLikeRef reports whether s could be a ref or the beginning of one.
func LooksLikeRef(s string) bool {
	return s != "" && len(s) <= RefLen && strings.Trim(s, RefAlphabet) == ""
}

// Person is one human by the platform's stable id: "slack:T0AB/U0CD", "discord:123", "telegram:456", "terminal:rob@host". Never a
// display name: names change hands.
type Person string

// Platform is the part of a person in front of the colon.
func (p Person) Platform() string {
	platform, _, _ := strings.Cut(string(p), ":")
	return platform
}

// ID is the person's own id on their platform, without platform and workspace: for sentences.
func (p Person) ID() string {
	_, id, _ := strings.Cut(string(p), ":")
	return id[strings.LastIndex(id, "/")+1:]
}

// Place is where in a chat something happens. The strings are the platform's own ids, so that any replica can answer there.
type Place struct {
	Platform string `json:"platform"`
	Space    string `json:"space,omitempty"`   // Slack team, Discord guild
	Channel  string `json:"channel"`           // channel, chat, or user@host of a terminal
	Thread   string `json:"thread,omitempty"`  // thread or topic; empty outside threads
	Private  bool   `json:"private,omitempty"` // a conversation between one person and the bot
}

// Key is the place as one string, distinct for distinct places. Private says nothing about identity and is left out.
func (p Place) Key() string {
	esc := strings.NewReplacer("%", "%25", "/", "%2F").Replace
	return strings.Join([]string{p.Platform, esc(p.Space), esc(p.Channel), esc(p.Thread)}, "/")
}

// IsZero reports whether there is no place.
func (p Place) IsZero() bool { return p.Platform == "" && p.Channel == "" }

// Errors that callers of the core tell apart. Everything else is a failure of the store or the machine.
var (
	ErrNotFound = errors.New("not found")
	// ErrRefused: the state machine or a limit does not allow it; the text says why and what to do, and is meant for people.
	ErrRefused = errors.New("refused")
	// ErrForbidden: this person may not; the text says how access is given.
	ErrForbidden = errors.New("not allowed")
	// ErrDecided: somebody was faster; the text says who and when.
	ErrDecided = errors.New("already decided")
)

// Mode says what a session may do without being asked.
type Mode string

const (
	ModePlan  Mode = "plan"  // reads only
	ModeAsk   Mode = "ask"   // the default
	ModeEdits Mode = "edits" // file tools may write in the workspace, except where a rule speaks
)
