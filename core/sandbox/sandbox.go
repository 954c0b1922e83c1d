// Package sandbox starts the commands of agents, and makes sure that none outlives the right to run it.
//
// Each command runs under a helper: the program starts itself again as `paragents __child`, see Child. The helper holds the reading end of
// a pipe, its lifeline. Over it the bot sends, at every renewal of the replica's lease, until when the command may live. The helper ends
// the command with everything that it started when that moment passes or the lifeline closes, so a bot that is killed, stopped or cut off
// from its store leaves nothing running when another replica may take over.
//
// What this cannot hold: a command that kills its helper and starts a session of its own survives until its own end, because the system
// then hands it to init; on macOS a process that leaves the session of its command is not found. Nothing here limits what a command may
// read or reach.
package sandbox

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Command is one command to run.
type Command struct {
	Argv    []string
	Dir     string        // absolute
	Env     []string      // the whole environment; nothing is inherited
	Timeout time.Duration // TERM to all its processes at the end, KILL when the grace has passed; must be positive
	Output  io.Writer     // takes the first OutputCap bytes of the output, in any number of writes; nil: nobody does
	Errors  io.Writer     // takes what it writes to its standard error, as Output does; nil: that is part of the output
	Limit   int           // bytes of output to keep in memory: half from the beginning, half from the end
}

// OutputCap is how many bytes of a command's output are written to Command.Output. A command that writes more goes on, and the rest is
// counted and dropped: what it does matters more than what it says.
const OutputCap = 256 << 20

// Grace is how long the processes of a command have between TERM and KILL, unless the lease is short: so much less than a second that a
// caller is back one second after the time limit.
const Grace = 600 * time.Millisecond

// Outcome is how a command ended.
type Outcome struct {
	Exit     int    // exit status; -1 when a signal ended it
	Signal   string // the signal's name, "" when it ended by itself
	Head     []byte // the beginning and the end of what it wrote on both streams; together all of it when Size is within Limit
	Tail     []byte
	Size     int64 // bytes written in all
	Kept     int64 // bytes that Command.Output took: less than Size over OutputCap, or when it failed
	TimedOut bool
	Leftover bool // it ended and left processes behind, which were ended
	Took     time.Duration
}

// Errors of Run. A command that failed or timed out is no error.
var (
	// ErrLease: the replica's lease is over, as far as this process knows, so nothing may run.
	ErrLease = errors.New("the lease of this replica is over")
	// ErrEnded: the command was ended by KillAll.
	ErrEnded = errors.New("ended with all commands of this replica")
)

// Config is what a Runner needs.
type Config struct {
	Exe   string        // path of the program that calls Child when its first argument is ChildArg
	Lease time.Duration // of the replica's heartbeat; 0: 15 s
	Alive *os.File      // inherited by every helper, and not by commands: a lock on it lasts as long as any of them; nil: none. The caller closes it
	Log   *slog.Logger  // nil: nothing is logged
}

// Runner starts commands on this replica, and passes the replica's heartbeat on to them. It is safe for concurrent use.
type Runner struct {
	exe    string
	alive  *os.File
	lease  time.Duration
	margin time.Duration
	grace  time.Duration
	log    *slog.Logger

	mu    sync.Mutex
	until int64 // reading of the clock at which commands must be gone, but for the grace
	live  map[*lifeline]bool
}

// New returns a runner. Its lease counts from now, until the first Beat.
//
// Commands are ended a margin before the lease is over: a fifth of the lease, at most 3 s. The grace must fit into it, because a command
// also ends when the bot does, which may be at the last moment: it is a third of the margin, at most Grace.
func New(c Config) *Runner {
	if c.Lease <= 0 {
		c.Lease = 15 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	margin := min(c.Lease/5, 3*time.Second)
	r := &Runner{exe: c.Exe, alive: c.Alive, lease: c.Lease, margin: margin, grace: min(margin/3, Grace), log: c.Log, live: map[*lifeline]bool{}}
	r.until = now() + int64(c.Lease-margin)
	return r
}

// Beat says that the replica's lease was renewed. Sent is when the renewal was sent, not when it was answered, with Go's monotonic reading:
// the lease counts from there, however long this process was stopped in between. Beat never waits for a child.
func (r *Runner) Beat(sent time.Time) {
	// The clock is read before the age is: a pause between the two makes the lease shorter, never longer.
	until := now() + int64(r.lease-r.margin)
	until -= int64(time.Since(sent))
	r.mu.Lock()
	defer r.mu.Unlock()
	if until <= r.until {
		return
	}
	r.until = until
	for l := range r.live {
		l.send(until)
	}
}

// KillAll ends every running command, their Run returns ErrEnded. It does not wait for them. Commands may be
// started again afterwards, under a new lease.
func (r *Runner) KillAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.live {
		l.ended = true
		l.close()
	}
}
