package replica_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"paragents/core"
	"paragents/core/fleet"
	"paragents/core/replica"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = 15 * time.Second

// joined is a replica that stays until leave is called. told notes what it says of its lease.
type joined struct {
	*replica.Self
	leave func()

	mu   sync.Mutex
	told []string
}

func (j *joined) note(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = append(j.told, what)
}

func join(t *testing.T, s store.Store) *joined {
	t.Helper()
	j := &joined{}
	j.Self = replica.New(replica.Config{Store: s, Clock: &state.Clock{}, Lease: lease, Terms: func() fleet.Terms { return fleet.Terms{} }, Held: func() int { return 3 },
		Beat: func(time.Time) {}, Renewed: func(context.Context) {}, Lost: func() { j.note("lost") }, Back: func() { j.note("back") }, Host: "h", Logger: slog.New(slog.DiscardHandler)})
	if err := j.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan struct{})
	go func() { defer close(over); j.Stay(ctx) }()
	j.leave = sync.OnceFunc(func() {
		end()
		<-over
		j.Leave(context.WithoutCancel(t.Context()))
	})
	t.Cleanup(j.leave)
	return j
}

func TestMembersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedtest.Open(t)
		a, b := join(t, s), join(t, s)
		time.Sleep(lease)
		ids := func() (out []core.ReplicaID) {
			list, err := a.Replicas(context.WithoutCancel(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range list {
				if m.Host != "h" || m.Held != 3 {
					t.Errorf("replica %s: host %q, holds %d", m.ID, m.Host, m.Held)
				}
				out = append(out, m.ID)
			}
			return out
		}
		if got := ids(); len(got) != 2 || !slices.Contains(got, a.ID()) || !slices.Contains(got, b.ID()) {
			t.Errorf("alive: %v", got)
		}
		b.leave()
		if got := ids(); !slices.Equal(got, []core.ReplicaID{a.ID()}) || b.ID() != "" {
			t.Errorf("alive after one left: %v", got)
		}
	})
}

// A store that is away for longer than the lease costs the replica its id, and it says so before it takes another.
func TestLostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedtest.Wrap(schedtest.Open(t))
		r := join(t, s)
		was := r.ID()
		s.Set(schedtest.Away)
		time.Sleep(lease - time.Second)
		if !r.Alive(was) {
			t.Error("dead before the lease was over")
		}
		time.Sleep(6 * time.Second)
		if r.Alive(was) {
			t.Error("alive after the lease was over")
		}
		s.Set(schedtest.None)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if now := r.ID(); now == was || !r.Alive(now) {
			t.Errorf("id %s after %s, alive %v", now, was, r.Alive(now))
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.Equal(r.told, []string{"lost", "back"}) {
			t.Errorf("told %v", r.told)
		}
	})
}

func TestOneDoesADuty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedtest.Open(t)
		a, b := join(t, s), join(t, s)
		ctx := t.Context()
		begun := make(chan *joined, 2)
		ends := map[*joined]context.CancelFunc{}
		var both sync.WaitGroup
		for _, r := range []*joined{a, b} {
			duty, end := context.WithCancel(ctx)
			defer end()
			ends[r] = end
			both.Go(func() {
				r.Do(duty, []string{"poll"}, func(ctx context.Context) error { begun <- r; <-ctx.Done(); return nil })
			})
		}
		time.Sleep(2 * lease)
		if len(begun) != 1 {
			t.Fatalf("%d replicas do it", len(begun))
		}
		first := <-begun
		second := map[*joined]*joined{a: b, b: a}[first]
		if err := second.Alone(ctx, "poll", func(context.Context) error { return nil }); !errors.Is(err, core.ErrRefused) {
			t.Errorf("alone while another does it: %v", err)
		}
		ends[first]()
		time.Sleep(2 * time.Second)
		if len(begun) != 1 || <-begun != second {
			t.Error("the other one did not go on with it")
		}
		ends[second]()
		both.Wait()
		if duties, err := a.Duties(context.WithoutCancel(ctx)); err != nil || len(duties) > 0 {
			t.Errorf("nobody does anything, but %v, %v", duties, err)
		}
	})
}
