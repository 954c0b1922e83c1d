package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"paragents/store"
)

// hold keeps the writer busy until the returned function lets it go on: it rings a bell and is not let out of the ring.
func hold(t *testing.T, c *Config) (wait func(*Engine), release func()) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c.Ring = func(notes []store.Notify) {
		if notes[0].Topic == "bell/hold" {
			close(held)
			<-free
		}
	}
	done := make(chan error, 1)
	return func(e *Engine) {
			go func() {
				_, err := e.Commit(context.Background(), store.Batch{Notify: []store.Notify{{Topic: "bell/hold"}}}, true)
				done <- err
			}()
			<-held
		}, func() {
			once.Do(func() {
				close(free)
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
}

// enqueue commits in a goroutine and returns when the batch is queued.
func enqueue(ctx context.Context, e *Engine, b store.Batch) <-chan error {
	done, before := make(chan error, 1), len(e.queue)
	go func() {
		_, err := e.Commit(ctx, b, true)
		done <- err
	}()
	for len(e.queue) == before {
		runtime.Gosched() // nothing tells that a channel has filled
	}
	return done
}

func TestAGroupIsOneTransaction(t *testing.T) {
	c := config(newPath(t))
	wait, release := hold(t, &c)
	e := open(t, c)
	wait(e)
	before := transactions(t, e)
	const batches = 50
	var done []<-chan error
	for i := range batches {
		b := put(store.Key(fmt.Sprint("doc/", i)), "v")
		switch i % 5 {
		case 1: // refused, and would leave much behind
			b.Expect = []store.Expect{{Key: "doc/0", Version: 99}}
			b.Insert = []store.Insert{{Index: "index/i", Member: fmt.Sprint(i)}}
			b.Append = []store.Append{{Log: "log/l", Value: []byte("refused")}}
			b.Add = []store.Add{{Key: "count/n", Delta: 1000}}
			b.ID = fmt.Sprint("refused", i)
		case 2:
			b.Fence = &store.Fence{Key: "claim/none", Version: 1, Holder: "me"}
		case 3: // a counter that is none, behind one that is
			b.Add = []store.Add{{Key: "count/n", Delta: 1000}, {Key: "doc/0", Delta: 1}}
		default:
			b.Add = []store.Add{{Key: "count/n", Delta: 1}}
		}
		done = append(done, enqueue(t.Context(), e, b))
	}
	release()
	applied := 0
	for i, ch := range done {
		err := <-ch
		switch i % 5 {
		case 1:
			if !errors.Is(err, store.ErrConflict) {
				t.Errorf("batch %d: %v", i, err)
			}
		case 2:
			if !errors.Is(err, store.ErrFenced) {
				t.Errorf("batch %d: %v", i, err)
			}
		case 3:
			if err == nil || errors.Is(err, store.ErrUnknown) {
				t.Errorf("batch %d: %v", i, err)
			}
		default:
			if err != nil {
				t.Errorf("batch %d: %v", i, err)
			}
			applied++
		}
	}
	if n := transactions(t, e) - before; n != 1 {
		t.Errorf("%d batches took %d transactions", batches, n)
	}
	if got := value(t, e, "count/n"); got != fmt.Sprint(applied) {
		t.Errorf("counted %s, want %d", got, applied)
	}
	if n := sizes(t, e); n["docs"] != applied+1 || n["members"]+n["order"]+n["logs"]+n["batches"]+n["ages"] != 0 {
		t.Errorf("after %d applied batches the buckets hold %v", applied, n)
	}
}

func TestARefusedGroupWritesNothing(t *testing.T) {
	e := open(t, config(newPath(t)))
	before := transactions(t, e)
	for range 3 {
		if _, err := e.Commit(t.Context(), store.Batch{Expect: []store.Expect{{Key: "doc/a", Version: 1}}}, true); !errors.Is(err, store.ErrConflict) {
			t.Fatal(err)
		}
	}
	if n := transactions(t, e) - before; n != 0 {
		t.Errorf("refusals took %d transactions", n)
	}
}

func TestAQueuedBatchIsWithdrawnWithItsContext(t *testing.T) {
	c := config(newPath(t))
	wait, release := hold(t, &c)
	e := open(t, c)
	wait(e)
	ctx, cancel := context.WithCancel(t.Context())
	done := enqueue(ctx, e, put("doc/a", "withdrawn"))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUnknown) {
		t.Fatalf("withdrawn batch: %v", err)
	}
	release()
	commit(t, e, put("doc/b", "v"))
	if got := value(t, e, "doc/a"); got != "" {
		t.Fatalf("the withdrawn batch was applied: %q", got)
	}
}

func TestATakenBatchIsUnknownWhenItsContextEnds(t *testing.T) {
	c := config(newPath(t))
	held, free := make(chan struct{}), make(chan struct{})
	c.Ring = func([]store.Notify) { close(held); <-free }
	e := open(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := e.Commit(ctx, store.Batch{Put: []store.Put{{Key: "doc/a", Value: []byte("v")}}, Notify: []store.Notify{{Topic: "bell/b"}}}, true)
		done <- err
	}()
	<-held
	cancel()
	if err := <-done; !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("taken batch: %v", err)
	}
	close(free)
}

func TestCloseRefusesWhatIsQueued(t *testing.T) {
	c := config(newPath(t))
	wait, release := hold(t, &c)
	e := open(t, c)
	wait(e)
	var done []<-chan error
	for i := range 5 {
		done = append(done, enqueue(t.Context(), e, put(store.Key(fmt.Sprint("doc/", i)), "v")))
	}
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	<-e.closing
	release()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	applied := 0
	for _, ch := range done {
		if err := <-ch; err == nil {
			applied++
		} else if !errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("queued batch: %v", err)
		}
	}
	e = open(t, config(c.Path))
	if n := sizes(t, e)["docs"]; n != applied {
		t.Errorf("%d batches were acknowledged and %d applied", applied, n)
	}
}

const fullDiskEnv = "PARAGENTS_TEST_FULL_DISK"

func TestADiskThatIsFull(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fullDiskEnv+"="+newPath(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// fillDisk runs in a process of its own, which may write files of a certain size only.
func fillDisk(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	e, err := Open(config(path))
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	if _, err := e.Commit(context.Background(), put("doc/before", "v"), true); err != nil {
		return err
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 256 << 10, Max: old.Max}); err != nil {
		return err
	}
	large := put("doc/large", strings.Repeat("x", store.MaxValue))
	large.ID = "large"
	for range 3 {
		if _, err := e.Commit(context.Background(), large, true); !errors.Is(err, store.ErrUnknown) {
			return fmt.Errorf("commit to a full disk: %v", err)
		}
	}
	if _, err := e.Commit(context.Background(), put("doc/small", "v"), true); err != nil {
		return fmt.Errorf("a batch that still fits: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	r, err := e.Commit(context.Background(), large, true)
	if err != nil || r.Repeated {
		return fmt.Errorf("the batch once there is room: %+v, %w", r, err)
	}
	snap, err := e.Get(context.Background(), "doc/before", "doc/small", "doc/large")
	if err != nil || len(snap.Docs[0].Value) != 1 || len(snap.Docs[1].Value) != 1 || len(snap.Docs[2].Value) != store.MaxValue {
		return fmt.Errorf("afterwards there is %+v, %v", snap, err)
	}
	return nil
}
