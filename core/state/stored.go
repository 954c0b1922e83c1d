package state

import (
	"time"

	"paragents/core"
	"paragents/store"
)

// Seen is what is remembered of an inbound event.
type Seen struct {
	Session core.SessionID `json:"session,omitempty"`
	Prompt  core.PromptID  `json:"prompt,omitempty"`
}

// EventKept is how long an inbound event is remembered for deduplication.
const EventKept = 7 * 24 * time.Hour

// Binding ties a place to the session that plain text goes to.
type Binding struct {
	Session core.SessionID `json:"session"`
}

// Claim is the document that gives a session to a replica. Its version and holder are the fence of everything that the run commits.
type Claim struct {
	Replica core.ReplicaID `json:"replica"`
	Since   time.Time      `json:"since"`
	Author  core.Person    `json:"author,omitempty"` // of the prompt that runs
}

// NamedKind says what a ref names.
type NamedKind string

const (
	NamedSession  NamedKind = "session"
	NamedPrompt   NamedKind = "prompt"
	NamedApproval NamedKind = "approval"
)

// Named is what a ref leads to.
type Named struct {
	Kind    NamedKind      `json:"kind"`
	ID      string         `json:"id"`
	Session core.SessionID `json:"session"`
}

// Name reserves a ref, and notes that what it names goes with the session; one that is taken refuses the batch, and the next try draws
// another.
func (b *Batch) Name(ref core.Ref, n Named) {
	b.Expect(RefKey(ref), 0)
	b.Put(RefKey(ref), n, 0)
	for _, key := range []store.Key{RefKey(ref), store.Key(string(n.Kind) + "/" + n.ID)} {
		b.InsertNow(Belongs(n.Session), string(key), 0)
	}
}

// Members of Due begin with what is due.
const (
	DueExpire = "expire/"
	DueRemind = "remind/"
	DueAlbum  = "album/"
)
