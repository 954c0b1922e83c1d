package reader_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"paragents/core"
	"paragents/core/moves"
	"paragents/core/reader"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
)

// counted counts the records that are read.
type counted struct {
	store.Store
	records int
}

func (c *counted) Read(ctx context.Context, log store.Log, from int64, limit int) ([]store.Record, error) {
	out, err := c.Store.Read(ctx, log, from, limit)
	c.records += len(out)
	return out, err
}

type world struct {
	t      *testing.T
	store  *counted
	memory *reader.Memory
}

func newWorld(t *testing.T, most int) *world {
	st := &counted{Store: schedtest.Open(t)}
	return &world{t: t, store: st, memory: reader.NewMemory(reader.New(st, &state.Clock{}), most)}
}

// write adds records with texts to a session's transcript.
func (w *world) write(id core.SessionID, texts ...string) {
	w.t.Helper()
	b := moves.On(&state.Clock{})
	for _, text := range texts {
		b.Records(id, core.Record{Kind: core.RecordUser, Text: text})
	}
	if _, err := b.Commit(w.t.Context(), w.store); err != nil {
		w.t.Fatal(err)
	}
}

// reads checks what is read of a session, and how many records of the store that took.
func (w *world) reads(id core.SessionID, records int, texts ...string) {
	w.t.Helper()
	w.store.records = 0
	list, err := w.memory.Transcript(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, r.Text)
	}
	if !slices.Equal(got, texts) || w.store.records != records {
		w.t.Errorf("read %q with %d records, want %q with %d", got, w.store.records, texts, records)
	}
	_ = append(list, core.Record{Text: "a caller's own"})
}

// Of a session that is known only the last record and what came since are read.
func TestMemoryReadsWhatIsNew(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.reads("s", 0)
	w.write("s", "a", "b")
	w.reads("s", 2, "a", "b")
	w.reads("s", 1, "a", "b")
	w.write("s", "c")
	w.reads("s", 2, "a", "b", "c")
	w.write("s", "d")
	w.reads("s", 2, "a", "b", "c", "d")
	w.write("other", "x")
	w.reads("other", 1, "x")
	w.reads("s", 1, "a", "b", "c", "d")
}

// A store that fell back, as after a fail-over to a replica that had not confirmed, has other records at the places that are known, or none.
func TestMemoryOfWhatTheStoreHasNot(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.write("s", "a", "b", "c")
	w.reads("s", 3, "a", "b", "c")
	fallen := schedtest.Open(t)
	w.store.Store = fallen
	w.reads("s", 0)
	w.write("s", "a", "other", "history")
	w.reads("s", 3, "a", "other", "history")

	w = newWorld(t, 1<<20)
	w.write("s", "a", "b", "c")
	w.reads("s", 3, "a", "b", "c")
	w.store.Store = schedtest.Open(t)
	w.write("s", "a", "other", "history", "and more")
	w.reads("s", 2+4, "a", "other", "history", "and more")

	w.store.Store = schedtest.Open(t)
	w.reads("s", 0)
}

// A session that is forgotten is forgotten here too.
func TestMemoryOfAForgottenSession(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.write("s", "a", "b")
	w.reads("s", 2, "a", "b")
	var b state.Batch
	b.Trim = []store.Trim{{Log: state.Transcript("s"), Before: math.MaxInt64}}
	if _, err := b.Commit(t.Context(), w.store); err != nil {
		t.Fatal(err)
	}
	w.reads("s", 0)
}

// What was not used for longest goes when there is too much, and what alone is too much is not kept.
func TestMemoryIsBounded(t *testing.T) {
	w := newWorld(t, 10_000)
	long := strings.Repeat("x", 500)
	for i := range 20 {
		id := core.SessionID(fmt.Sprint(i))
		w.write(id, long, long)
		w.reads(id, 2, long, long)
		w.reads("0", 1, long, long) // it stays in use
	}
	for id, records := range map[core.SessionID]int{"0": 1, "19": 1, "1": 2} {
		w.reads(id, records, long, long)
	}
	w.write("big", long, long, long, long, long)
	w.reads("big", 5, long, long, long, long, long)
	w.reads("big", 5, long, long, long, long, long)
}
