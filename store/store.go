// Package store is the contract between Paragents and its state: one small interface that a Redis and a local file both keep.
//
// The store decides nothing. All rules live in the core; the store applies a batch whole or not at all, keeps the only clock, and rings bells.
// What an implementation must do beyond the types here is written as its exam, package storetest.
package store

import (
	"context"
	"errors"
	"time"
)

// Errors that every implementation returns, wrapped with the operation and what it was about. Anything else is a failure to reach the
// store: for a read nothing happened; a Commit reports that as ErrUnknown unless it is certain that nothing was applied.
var (
	// ErrConflict: a document had another version than expected. Nothing was applied; read again and decide again.
	ErrConflict = errors.New("version conflict")
	// ErrFenced: the fence did not hold: somebody else owns what the batch was to be protected by. Nothing was applied; stop the work.
	ErrFenced = errors.New("fenced")
	// ErrUnknown: the batch may or may not have been applied. Commit the same batch (same ID) again, or read before doing anything.
	ErrUnknown = errors.New("outcome unknown")
	// ErrTooLarge: a value or batch is over the limits below. Nothing was applied, and a repeat will fail too.
	ErrTooLarge = errors.New("too large")
	// ErrClosed: the store was closed by its owner.
	ErrClosed = errors.New("store is closed")
)

// Limits that hold for every store, so that what one accepts the other accepts.
const (
	MaxValue  = 1 << 20          // bytes of one document or log record
	MaxBatch  = 4 << 20          // bytes of all values of a batch
	MaxOps    = 4096             // documents, entries and records of one batch
	MaxScan   = 1000             // entries or records that one Scan or Read returns
	BatchKept = 10 * time.Minute // how long a batch's ID is remembered at least
)

// Key names a document, Index an ordered index, Log a log, Topic a bell. Keys read "family/rest"; package core owns the names.
type (
	Key   string
	Index string
	Log   string
	Topic string
)

// Doc is a document as read. A document that does not exist, or has expired, has Version 0 and nothing else.
type Doc struct {
	Value   []byte // owned by the caller
	Version int64  // rises with every put of any document in the store; never used twice by one store, but a fail-over may lose the newest
	Holder  string // set by Put.Holder
}

// Snapshot is what one Get saw, all documents at one moment.
type Snapshot struct {
	Time time.Time // the store's clock, millisecond precision
	Docs []Doc     // in the order of the keys asked for
}

// Expect makes a batch conditional: the document must have exactly this version; 0 means that it must not exist.
type Expect struct {
	Key     Key
	Version int64
}

// Fence protects a batch by a claim: the document must have this version and holder, or the batch is refused with ErrFenced. Both are
// compared because after a fail-over that lost the newest writes a version may be issued a second time, to somebody else.
type Fence struct {
	Key     Key
	Version int64
	Holder  string
}

// Put writes a document.
type Put struct {
	Key     Key
	Value   []byte
	Expires time.Duration // 0: never. Counted from the commit, on the store's clock
	// Holder marks a claim or lease: the random id of the process that owns it. A store that one process owns drops documents with
	// a Holder and an expiry when it is opened, because the lock proves that their owners are dead.
	Holder string
}

// Entry is one member of an index. Entries are ordered by score, then by member.
type Entry struct {
	Member string
	Score  float64
}

// Insert adds or moves an entry of an index.
type Insert struct {
	Index  Index
	Member string
	Score  float64
	// FromNow makes the score the store's time of the commit, in milliseconds since the epoch, plus Score milliseconds.
	FromNow bool
}

// Remove takes an entry out of an index; one that is not there is no error.
type Remove struct {
	Index  Index
	Member string
}

// Add adds Delta to a counter: a document whose value is a decimal integer; one that does not exist counts as 0.
type Add struct {
	Key     Key
	Delta   int64
	Expires time.Duration // set when the counter is created by this Add; 0: never
}

// Append writes a record at the end of a log.
type Append struct {
	Log   Log
	Value []byte
}

// Trim removes a log's records before a position; math.MaxInt64 removes them all.
type Trim struct {
	Log    Log
	Before int64
}

// Notify rings a bell after the batch was applied. Bells are lossy: a payload is a hint (at most 4 kB), never the only copy of anything.
type Notify struct {
	Topic   Topic
	Payload []byte
}

// Batch is applied whole or refused whole. Order: the ID is looked up, then the fence, then the expectations, then everything is applied
// in the order of the fields. No document may be expected twice or written (Put, Delete, Add) twice in one batch; Check says so.
type Batch struct {
	// ID makes a repeat harmless: a second commit of the same ID within BatchKept returns the first one's Result and applies nothing.
	// Empty: Commit draws one, and its own retries are safe.
	ID     string
	Fence  *Fence
	Expect []Expect
	Put    []Put
	Delete []Key
	Insert []Insert
	Remove []Remove
	Add    []Add
	Append []Append
	Trim   []Trim
	Notify []Notify
	// Durable asks for the configured number of replicas to have the batch before Commit returns (store.min_replicas); set on every
	// batch that gates an effect. A store without replicas is durable on disk in any case, as far as it is configured to be.
	Durable bool
}

// Result is what an applied batch returns.
type Result struct {
	Time      time.Time // the store's clock at the commit
	Version   int64     // the version that every document put by the batch now has
	Counters  []int64   // the values after Batch.Add, in order
	Positions []int64   // the positions of Batch.Append, in order
	Repeated  bool      // the batch had been applied before; the rest is the first one's
}

// Range says which part of an index Scan returns.
type Range struct {
	After   *Entry // start behind this entry, nil: at the beginning (the end when Reverse). It need not exist any more
	Limit   int    // at most MaxScan; 0 means MaxScan
	Reverse bool   // from the highest score down
	Due     bool   // only entries whose score is at most the store's time in milliseconds
}

// Page is one answer of Scan.
type Page struct {
	Time    time.Time // the store's clock
	Entries []Entry
	Total   int64 // entries in the whole index
}

// Record is one record of a log. Positions rise within a log, and have gaps.
type Record struct {
	Position int64
	Value    []byte // owned by the caller
}

// Notification is one ring of a bell.
type Notification struct {
	Topic   Topic
	Payload []byte
}

// Store is the state of one deployment. All methods may be called at the same time from many goroutines, and return soon after their
// context ends. An implementation gives every call a limit of its own (5 s) when the context has none.
type Store interface {
	// Get reads documents at one moment; at most MaxOps keys.
	Get(ctx context.Context, keys ...Key) (Snapshot, error)
	// Commit applies a batch. It retries lost connections itself, within the context, under the batch's ID, and returns ErrUnknown when it
	// cannot find out.
	Commit(ctx context.Context, b Batch) (Result, error)
	// Scan returns a part of an index.
	Scan(ctx context.Context, index Index, r Range) (Page, error)
	// Read returns records of a log from a position on (that one included when it exists), at most limit (0: MaxScan).
	Read(ctx context.Context, log Log, from int64, limit int) ([]Record, error)
	// Subscribe rings for topics until the context ends; then the channel is closed. It returns when the subscription is in force.
	// The channel holds 256 notifications; when it is full new ones are dropped. After a lost connection it subscribes again by
	// itself; what was rung meanwhile is gone. Whoever waits for a bell also looks for himself every second.
	Subscribe(ctx context.Context, topics ...Topic) (<-chan Notification, error)
	// Close frees what the store holds; subscriptions end. The data stays.
	Close() error
}
