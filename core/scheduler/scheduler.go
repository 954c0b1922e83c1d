// Package scheduler moves prompts through their states: it accepts them, claims their sessions for this replica, lets the agent run them,
// does what is due, and takes over what a dead replica left.
//
// All decisions are made here, in Go, on documents that were read with their versions; the store applies the outcome whole or refuses it.
// Each duty has a file. Run owns every goroutine.
package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"paragents/core"
	"paragents/core/fleet"
	"paragents/core/freeze"
	"paragents/core/orders"
	"paragents/core/reader"
	"paragents/core/replica"
	"paragents/core/reserve"
	"paragents/core/state"
	"paragents/store"
)

// Agent runs prompts. Run returns soon after its context ends, and then its outcome counts only as far as it says what was done.
type Agent interface {
	Run(ctx context.Context, run *Run) Outcome
}

// Courier sends the letters of a session's lane, in order. finish adds to a batch what records the last of it as sent; the caller commits
// it, fenced. again is how long to wait before the rest can be sent; 0: nothing is left. alive is asked before every send.
type Courier interface {
	Drain(ctx context.Context, session core.SessionID, fence store.Fence, alive func() bool) (finish func(*state.Batch), again time.Duration, err error)
}

// Config is what a scheduler needs. Store, Agent and Courier have no default.
type Config struct {
	Store   store.Store
	Agent   Agent
	Courier Courier
	// Lease is how long a replica may be silent before others take over its sessions; renewed every third of it. Default 15 s.
	Lease time.Duration
	// Grace is how long running prompts have to come to a boundary at shutdown. Default 30 s.
	Grace time.Duration
	// MaxInFlight is how many sessions this replica holds at once. Default 128.
	MaxInFlight int
	// MaxQueue is how many unfinished prompts a session may have. Default 20.
	MaxQueue int
	// MaxPerPerson and MaxPerWorkspace are how many prompts of one author, and in one workspace, run at once on all replicas; 0: no limit.
	MaxPerPerson, MaxPerWorkspace int
	// Expire is how long an approval waits for an answer. Default 7 days.
	Expire time.Duration
	// Remind is when people are reminded of an approval for the first time; the second time is 18 hours later. Default an hour; negative: never.
	Remind time.Duration
	// Serves and Reaches say which sessions this replica may hold: it has the workspace's directory, and can speak at the place.
	// Default: all.
	Serves  func(workspace string) bool
	Reaches func(core.Place) bool
	// Foresee infers from a prompt's text what it will write, before its first run. Default: nothing.
	Foresee func(core.Session, core.Prompt) core.Guess
	// Conflicts says what happens in a workspace to a prompt that would write what another one holds. Default: core.AskConflicts.
	Conflicts func(workspace string) core.ConflictMode
	// Isolated reports whether every session of a workspace works in a git worktree of its own. Default: no.
	Isolated func(workspace string) bool
	// Fold reports whether a workspace's file system takes names that differ only in case for the same. Default: no.
	Fold func(workspace string) bool
	// Copies says where else the approvals of a prompt are asked. It is called in every try to write them down. Default: nowhere.
	Copies func(ctx context.Context, p core.Prompt) ([]core.Copy, error)
	// Beat is called at every renewal of the lease with the time at which it was sent, and must not block: commands that were started live from it.
	Beat func(sent time.Time)
	// Lost is called when the lease was lost, before a new one is taken: everything that lives from the old one must end.
	Lost func()
	// Progress gets what a run says while it goes on. It must not block. May be nil.
	Progress func(core.Letter)
	// Terms are what this replica goes by at the moment, for the others; who and since when is filled in here. May be nil.
	Terms func() fleet.Terms
	// Host and Version describe this replica to people.
	Host, Version string
	Logger        *slog.Logger
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Lease, 15*time.Second)
	def(&c.Grace, 30*time.Second)
	def(&c.Expire, 7*24*time.Hour)
	def(&c.Remind, time.Hour)
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 128
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = 20
	}
	if c.Serves == nil {
		c.Serves = func(string) bool { return true }
	}
	if c.Reaches == nil {
		c.Reaches = func(core.Place) bool { return true }
	}
	if c.Foresee == nil {
		c.Foresee = func(core.Session, core.Prompt) core.Guess { return core.Guess{} }
	}
	if c.Conflicts == nil {
		c.Conflicts = func(string) core.ConflictMode { return core.AskConflicts }
	}
	if c.Isolated == nil {
		c.Isolated = func(string) bool { return false }
	}
	if c.Fold == nil {
		c.Fold = func(string) bool { return false }
	}
	if c.Copies == nil {
		c.Copies = func(context.Context, core.Prompt) ([]core.Copy, error) { return nil, nil }
	}
	if c.Beat == nil {
		c.Beat = func(time.Time) {}
	}
	if c.Lost == nil {
		c.Lost = func() {}
	}
	if c.Progress == nil {
		c.Progress = func(core.Letter) {}
	}
	if c.Terms == nil {
		c.Terms = func() fleet.Terms { return fleet.Terms{} }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Scheduler is one replica's part of the work. What people wish (Accept, and all Orders) works on any replica, whether Run is going on or not.
type Scheduler struct {
	*replica.Self  // this process among the others
	*orders.Orders // what people wish

	cfg    Config
	store  store.Store
	log    *slog.Logger
	clock  state.Clock
	books  *reserve.Keeper
	memory *reader.Memory
	ice    freeze.Watch
	slots  *semaphore.Weighted
	wake   chan struct{} // capacity 1: look at ready now
	// missed: there was no slot for something that may be ready. early: a session was ready that could not be held yet, because this replica had not let go of it
	// or its quota was used up.
	missed, early atomic.Bool

	mu    sync.Mutex
	held  map[core.SessionID]*holding
	floor *floor // nil while this replica takes no sessions
}

// memory is how many bytes of transcripts a replica keeps at hand, as stored: those of some hundred sessions.
const memory = 8 << 20

// New makes a scheduler; Run sets it to work.
func New(cfg Config) *Scheduler {
	cfg = cfg.withDefaults()
	s := &Scheduler{
		cfg:   cfg,
		store: cfg.Store,
		log:   cfg.Logger,
		slots: semaphore.NewWeighted(int64(cfg.MaxInFlight)),
		wake:  make(chan struct{}, 1),
		held:  make(map[core.SessionID]*holding),
	}
	s.books = &reserve.Keeper{Store: cfg.Store, Clock: &s.clock, Mode: cfg.Conflicts, Fold: cfg.Fold}
	s.Orders = orders.New(orders.Config{Store: cfg.Store, Clock: &s.clock, Books: s.books, MaxQueue: cfg.MaxQueue})
	s.memory = reader.NewMemory(s.Reader, memory)
	s.Self = replica.New(replica.Config{Store: cfg.Store, Clock: &s.clock, Lease: cfg.Lease, Terms: cfg.Terms, Held: s.occupied, Beat: cfg.Beat, Renewed: s.orders,
		Lost: func() { s.drop(errLost); cfg.Lost() }, Back: s.poke, Host: cfg.Host, Version: cfg.Version, Logger: cfg.Logger})
	return s
}

// Now is the store's time as far as this process knows it.
func (s *Scheduler) Now() time.Time { return s.clock.Now() }

// Run works until the context ends, then parks what is running, ends the heartbeat and returns nil. A store that is away is waited for.
func (s *Scheduler) Run(ctx context.Context) error {
	// Work goes on after ctx ended, while it is parked; hard is its end.
	hard, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	if err := s.Join(ctx); err != nil { // with it the rules of the others are known, before anything is done that they may forbid
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	floor := s.open(hard)
	g, duties := errgroup.WithContext(ctx)
	beating, endBeat := context.WithCancel(hard)
	defer endBeat()
	beat := make(chan struct{})
	go func() { defer close(beat); s.Stay(beating) }()
	g.Go(func() error { s.dispatch(duties); return nil })
	g.Go(func() error { s.listen(duties); return nil })
	g.Go(func() error { every(duties, s.cfg.Lease/3, s.recover); return nil })
	g.Go(func() error { every(duties, s.cfg.Lease/3, s.Compare); return nil })
	g.Go(func() error { every(duties, unservedAfter/2, s.unserved); return nil })
	g.Go(func() error { every(duties, time.Second, s.due); return nil })
	g.Go(func() error { every(duties, time.Second/2, s.brake); return nil })
	g.Go(func() error { every(duties, time.Second, s.waiters); return nil })
	g.Go(func() error { every(duties, time.Minute, s.collect); return nil })
	g.Go(func() error { every(duties, time.Minute, s.seal); return nil })
	err := g.Wait()

	s.close()
	parked := make(chan struct{})
	go func() { floor.holdings.Wait(); close(parked) }()
	select {
	case <-parked:
	case <-time.After(s.cfg.Grace):
		stop(errShutdown)
		<-parked
	}
	endBeat()
	<-beat
	s.Leave(context.WithoutCancel(ctx))
	return err
}

// every calls a duty at once and then at an interval, until the context ends.
func every(ctx context.Context, interval time.Duration, duty func(context.Context)) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		duty(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Why a run's context ended.
var (
	errShutdown = errors.New("the replica shuts down")
	errLost     = errors.New("the replica lost its lease")
	errCancel   = errors.New("cancelled")
)
