package redis

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"paragents/store"
)

const (
	unnamedKept = time.Minute // how much longer than its call the ID of a batch is kept that only Commit's own retries know
	replicaWait = time.Second // how long one WAIT waits
)

var (
	//go:embed get.lua
	getText string
	//go:embed scan.lua
	scanText string
	//go:embed commit.lua
	commitText string
)

// scripts are loaded into the server when it does not know them.
type scripts struct {
	get, scan, commit *redis.Script
	tidy              *redis.Script // commit, for a batch that only makes room: it runs when memory is full, too
}

func newScripts() scripts {
	return scripts{
		get:  redis.NewScript(getText),
		scan: redis.NewScript(scanText),
		// A script that names its flags is refused as a whole, before it begins, by a replica, a full memory or a failed disk.
		commit: redis.NewScript("#!lua\n" + commitText),
		tidy:   redis.NewScript("#!lua flags=allow-oom\n" + commitText),
	}
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	fail := func(err error) (store.Result, error) { return store.Result{}, fmt.Errorf("commit batch: %w", err) }
	if err := b.Check(); err != nil {
		return fail(err)
	}
	keep, named := unnamedKept, b.ID != ""
	if deadline, ok := ctx.Deadline(); ok {
		keep += time.Until(deadline) // so long this call itself may repeat it
	}
	if named {
		keep = max(keep, store.BatchKept)
	} else {
		b.ID = rand.Text()
	}
	script := s.scripts.commit
	if onlyFrees(b) {
		script = s.scripts.tidy
	}
	f := &flight{keep: strconv.FormatInt(keep.Milliseconds(), 10)}
	names, args := s.encode(b, f)
	run := s.eval
	if b.Durable && s.minReplicas > 0 {
		run = s.evalDurable
	}
	reply, err := ask(ctx, s, func(ctx context.Context) ([]any, error) {
		reply, err := run(ctx, script, f, names, args)
		f.land(err)
		return reply, err
	})
	switch {
	case err == nil:
	case f.cancel():
		return fail(fmt.Errorf("%w: %w", store.ErrUnknown, err))
	default:
		return fail(err)
	}
	result, err := s.decodeResult(reply)
	if err != nil {
		return fail(err)
	}
	result.Repeated = result.Repeated && named // by this call itself, when its first answer was lost
	return result, nil
}

// onlyFrees says whether a batch makes the store smaller.
func onlyFrees(b store.Batch) bool {
	return len(b.Put)+len(b.Insert)+len(b.Add)+len(b.Append) == 0 && len(b.Delete)+len(b.Remove)+len(b.Trim) > 0
}

func (s *Store) eval(ctx context.Context, script *redis.Script, f *flight, names []string, args []any) ([]any, error) {
	reply, err := script.EvalSha(ctx, s.client, names, args...).Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		f.land(err)
		reply, err = script.Eval(ctx, s.client, names, args...).Slice()
	}
	return reply, err
}

// evalDurable sends the script and WAIT together, so that they share a connection: WAIT is about what its own connection wrote.
func (s *Store) evalDurable(ctx context.Context, script *redis.Script, f *flight, names []string, args []any) ([]any, error) {
	node, err := s.primary(ctx)
	if err != nil {
		return nil, err
	}
	send := func(run func(redis.Scripter) *redis.Cmd) ([]any, error) {
		patience := replicaWait
		if deadline, ok := ctx.Deadline(); ok {
			patience = min(patience, time.Until(deadline)/2)
		}
		pipe := node.Pipeline()
		script := run(pipe)
		wait := pipe.Do(ctx, "wait", s.minReplicas, max(patience.Milliseconds(), 1))
		if s.mode == cluster {
			s.trips.Add(1) // the nodes of a Cluster have no hooks
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		reply, err := script.Slice()
		if err != nil || !applied(reply) {
			return reply, err
		}
		if replicas, err := wait.Int64(); err != nil || replicas < int64(s.minReplicas) {
			return nil, fmt.Errorf("%w (%d of %d, %v)", NotReplicated, replicas, s.minReplicas, err)
		}
		return reply, nil
	}
	reply, err := send(func(p redis.Scripter) *redis.Cmd { return script.EvalSha(ctx, p, names, args...) })
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		f.land(err)
		reply, err = send(func(p redis.Scripter) *redis.Cmd { return script.Eval(ctx, p, names, args...) })
	}
	if c, ok := s.client.(*redis.ClusterClient); ok && redis.HasErrorPrefix(err, "MOVED") {
		c.ReloadState(ctx)
	}
	return reply, err
}

// encode writes a batch as commit.lua reads it.
func (s *Store) encode(b store.Batch, f *flight) (names []string, args []any) {
	names = []string{s.keys.counter(), s.keys.batch(b.ID)}
	args = []any{f}
	op := func(name string, words ...any) {
		names = append(names, name)
		args = append(args, words...)
	}
	if b.Fence != nil {
		op(s.keys.doc(b.Fence.Key), "fence", b.Fence.Version, b.Fence.Holder)
	}
	for _, e := range b.Expect {
		op(s.keys.doc(e.Key), "expect", e.Version)
	}
	for _, a := range b.Add {
		op(s.keys.doc(a.Key), "count", a.Delta)
	}
	for _, p := range b.Put {
		op(s.keys.doc(p.Key), "put", p.Value, milliseconds(p.Expires), p.Holder)
	}
	for _, key := range b.Delete {
		op(s.keys.doc(key), "delete")
	}
	for _, i := range b.Insert {
		op(s.keys.index(i.Index), "insert", score(i.Score), i.Member, i.FromNow)
	}
	for _, r := range b.Remove {
		op(s.keys.index(r.Index), "remove", r.Member)
	}
	for _, a := range b.Add {
		op(s.keys.doc(a.Key), "add", a.Delta, milliseconds(a.Expires))
	}
	for _, a := range b.Append {
		op(s.keys.log(a.Log), "append", a.Value)
	}
	for _, t := range b.Trim {
		op(s.keys.log(t.Log), "trim", max(t.Before, 0))
	}
	for _, n := range b.Notify {
		args = append(args, "notify", s.keys.bell(n.Topic), n.Payload)
	}
	return names, args
}

// milliseconds rounds up, because 0 means never.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func applied(reply []any) bool {
	return len(reply) == 2 && (reply[0] == "applied" || reply[0] == "repeated")
}

// decodeResult reads the answer of commit.lua.
func (s *Store) decodeResult(reply []any) (store.Result, error) {
	if len(reply) != 2 {
		return store.Result{}, errReply
	}
	word, _ := reply[0].(string)
	text, _ := reply[1].(string)
	name := strings.TrimPrefix(text, s.keys.doc(""))
	switch word {
	case "applied", "repeated":
		r, err := parseResult(text)
		r.Repeated = word == "repeated"
		return r, err
	case "fenced":
		return store.Result{}, fmt.Errorf("document %q: %w", name, store.ErrFenced)
	case "conflict":
		return store.Result{}, fmt.Errorf("document %q: %w", name, store.ErrConflict)
	case "number":
		return store.Result{}, fmt.Errorf("document %q is not a counter", name)
	case "large":
		return store.Result{}, fmt.Errorf("counter %q: %w", name, store.ErrTooLarge)
	}
	return store.Result{}, errReply
}

// parseResult reads "time version counters positions".
func parseResult(text string) (store.Result, error) {
	parts := strings.Split(text, " ")
	if len(parts) != 4 {
		return store.Result{}, errReply
	}
	numbers := func(list string) (ns []int64, err error) {
		if list == "" {
			return nil, nil
		}
		for one := range strings.SplitSeq(list, ",") {
			n, err := strconv.ParseInt(one, 10, 64)
			if err != nil {
				return nil, errReply
			}
			ns = append(ns, n)
		}
		return ns, nil
	}
	head, err1 := numbers(parts[0] + "," + parts[1])
	counters, err2 := numbers(parts[2])
	positions, err3 := numbers(parts[3])
	if err := errors.Join(err1, err2, err3); err != nil {
		return store.Result{}, err
	}
	return store.Result{Time: time.UnixMilli(head[0]), Version: head[1], Counters: counters, Positions: positions}, nil
}

// flight knows whether a batch may have reached the server. It is an argument of the command: go-redis asks for an argument's bytes just
// when it writes the command to a connection, so what was never asked for was never sent.
type flight struct {
	keep string // the argument itself

	mu        sync.Mutex
	writes    int  // since the last landing
	unknown   bool // an earlier attempt may have been applied
	cancelled bool // nothing is to be sent any more
}

var errCancelled = errors.New("the call has ended")

func (f *flight) MarshalBinary() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancelled {
		return nil, errCancelled
	}
	f.writes++
	return []byte(f.keep), nil
}

// land notes how an attempt ended. It did nothing if it was never sent, or was sent once and the server refused it; a Cluster's client
// sends it several times, and tells the last answer only. An answer may also come too late for the caller to see it.
func (f *flight) land(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writes > 1 || (f.writes == 1 && !replied(err)) {
		f.unknown = true
	}
	f.writes = 0
}

// cancel keeps the batch from being sent again, and says whether it may have been applied.
func (f *flight) cancel() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancelled = true
	return f.unknown || f.writes > 0
}
