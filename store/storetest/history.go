package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"paragents/store"
)

const (
	historyClients = 5
	historyDocs    = 3
)

// A history's operation is a read of all documents or one batch. Documents 0 to historyDocs-1 are put, the one behind them is counted.
type historyInput struct {
	read   bool
	expect map[int]int64
	put    int // document, or -1
	value  string
	remove int // document, or -1
	delta  int64
}

type historyOutput struct {
	conflict bool
	docs     [historyDocs + 1]historyDoc
	version  int64
	counter  int64
}

type historyDoc struct {
	value   string
	version int64
}

// historyState is the model: the documents, and the highest version given so far.
type historyState struct {
	docs [historyDocs + 1]historyDoc
	last int64
}

// linearizable runs random operations of several clients over the handles and lets porcupine look for an order that explains all
// answers. disturb, when there is one, is called once in the middle.
func (x *subject) linearizable(handles []store.Store, each int, disturb func()) {
	x.Helper()
	seed := rand.Uint64()
	x.Logf("seed %d", seed)
	begin := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	middle := make(chan struct{}, historyClients)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-middle:
		case <-x.ctx.Done():
			return
		}
		if disturb != nil {
			disturb()
		}
	}()
	x.together(historyClients, func(client int) {
		rnd := rand.New(rand.NewPCG(seed, uint64(client)))
		s := handles[client%len(handles)]
		var seen [historyDocs + 1]historyDoc
		for n := range each {
			if n == each/2 {
				middle <- struct{}{}
			}
			in := randomInput(rnd, seen, fmt.Sprintf("%d.%d", client, n))
			call := time.Since(begin)
			out, err := perform(x.ctx, s, in)
			if err != nil {
				x.Errorf("client %d: %v", client, err)
				return
			}
			op := porcupine.Operation{ClientId: client, Input: in, Call: int64(call), Output: out, Return: int64(time.Since(begin))}
			if in.read {
				seen = out.docs
			}
			mu.Lock()
			history = append(history, op)
			mu.Unlock()
		}
	})
	within(x, "the disturbance", over)
	result := porcupine.CheckOperationsTimeout(historyModel(), history, limit)
	if result != porcupine.Ok {
		x.Fatalf("history of %d operations: %v", len(history), result)
	}
}

func randomInput(rnd *rand.Rand, seen [historyDocs + 1]historyDoc, value string) historyInput {
	in := historyInput{put: -1, remove: -1, value: value, expect: make(map[int]int64)}
	if rnd.IntN(3) == 0 {
		in.read = true
		return in
	}
	for doc := range historyDocs {
		if rnd.IntN(3) == 0 {
			in.expect[doc] = seen[doc].version
		}
	}
	in.put = rnd.IntN(historyDocs+1) - 1
	if remove := rnd.IntN(3*historyDocs) - 2*historyDocs; remove >= 0 && remove != in.put {
		in.remove = remove
	}
	if rnd.IntN(2) == 0 {
		in.delta = rnd.Int64N(9) - 4
	}
	return in
}

func historyKey(doc int) store.Key { return store.Key(fmt.Sprintf("doc/%d", doc)) }

// perform runs an operation, again after each failure, so that its outcome is known in the end: a batch keeps its ID.
func perform(ctx context.Context, s store.Store, in historyInput) (out historyOutput, err error) {
	for {
		if in.read {
			out, err = readAll(ctx, s)
		} else {
			out, err = commitInput(ctx, s, in)
		}
		if err == nil || ctx.Err() != nil {
			return out, err
		}
	}
}

func readAll(ctx context.Context, s store.Store) (out historyOutput, err error) {
	keys := make([]store.Key, len(out.docs))
	for doc := range keys {
		keys[doc] = historyKey(doc)
	}
	snap, err := s.Get(ctx, keys...)
	for doc, d := range snap.Docs {
		out.docs[doc] = historyDoc{string(d.Value), d.Version}
	}
	return out, err
}

func commitInput(ctx context.Context, s store.Store, in historyInput) (historyOutput, error) {
	b := store.Batch{ID: in.value}
	for doc, version := range in.expect {
		b.Expect = append(b.Expect, store.Expect{Key: historyKey(doc), Version: version})
	}
	if in.put >= 0 {
		b.Put = []store.Put{{Key: historyKey(in.put), Value: []byte(in.value)}}
	}
	if in.remove >= 0 {
		b.Delete = []store.Key{historyKey(in.remove)}
	}
	if in.delta != 0 {
		b.Add = []store.Add{{Key: historyKey(historyDocs), Delta: in.delta}}
	}
	r, err := s.Commit(ctx, b)
	if errors.Is(err, store.ErrConflict) {
		return historyOutput{conflict: true}, nil
	}
	out := historyOutput{version: r.Version}
	if len(r.Counters) > 0 {
		out.counter = r.Counters[0]
	}
	return out, err
}

func historyModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return historyState{} },
		Step: func(state, input, output any) (bool, any) {
			return step(state.(historyState), input.(historyInput), output.(historyOutput))
		},
		Equal: func(a, b any) bool { return a == b },
	}
}

// step says whether an operation may have had this answer, and the state after it.
func step(s historyState, in historyInput, out historyOutput) (bool, historyState) {
	if in.read {
		return s.docs == out.docs, s
	}
	met := true
	for doc, version := range in.expect {
		met = met && s.docs[doc].version == version
	}
	if out.conflict || !met {
		return out.conflict && !met, s
	}
	if out.version <= s.last {
		return false, s
	}
	s.last = out.version
	if in.put >= 0 {
		s.docs[in.put] = historyDoc{in.value, out.version}
	}
	if in.remove >= 0 {
		s.docs[in.remove] = historyDoc{}
	}
	if in.delta != 0 {
		sum, _ := strconv.ParseInt(s.docs[historyDocs].value, 10, 64)
		sum += in.delta
		if sum != out.counter {
			return false, s
		}
		s.docs[historyDocs] = historyDoc{strconv.FormatInt(sum, 10), out.version}
	}
	return true, s
}
