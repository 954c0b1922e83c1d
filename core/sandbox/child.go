package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// The helper's descriptors beyond the standard three.
const (
	lifelineFD = 3
	reportFD   = 4
	aliveFD    = 5 // if the bot gave one; it is only held
)

// settleTime is how long processes that a command leaves behind may take to end by themselves: `echo x > >(sort)` still sorts.
const settleTime = 150 * time.Millisecond

// Child is the helper of one command, the body of `paragents __child`; args are what follows that word. It starts the command in a
// session of its own with the helper's own directory, environment, null input and output, and ends it with all that it started when the
// lifeline says so. It returns the exit status of the helper; how the command ended goes to the bot.
func Child(args []string, stderr io.Writer) int {
	// A command dies with the thread that started it. The main thread lives as long as the helper.
	runtime.LockOSThread()
	c, err := newChild(args)
	if err != nil {
		fmt.Fprintf(stderr, "%s is started by the bot itself, not by hand: %v\n", ChildArg, err)
		return 2
	}
	if err := c.start(); err != nil {
		c.say(report{Done: true, Exit: -1, Error: err.Error()})
		return 1
	}
	c.say(report{Pid: c.pid})
	c.say(c.watch())
	return 0
}

type child struct {
	until   int64
	grace   time.Duration // between TERM and KILL
	argv    []string
	line    *os.File
	report  *json.Encoder
	signals chan os.Signal

	pid    int
	beats  chan int64
	exited chan syscall.WaitStatus
}

// newChild reads the arguments: until when the command may live, the grace between TERM and KILL, "--", the command.
func newChild(args []string) (*child, error) {
	if len(args) < 4 || args[2] != "--" {
		return nil, errors.New("arguments are missing")
	}
	until, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return nil, err
	}
	grace, err := time.ParseDuration(args[1])
	if err != nil {
		return nil, err
	}
	for _, fd := range []int{lifelineFD, reportFD} {
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return nil, fmt.Errorf("descriptor %d is no pipe", fd)
		}
		syscall.CloseOnExec(fd) // they are not for the command
	}
	syscall.CloseOnExec(aliveFD)
	c := &child{
		until: until, grace: grace, argv: args[3:],
		line:    os.NewFile(lifelineFD, "lifeline"),
		report:  json.NewEncoder(os.NewFile(reportFD, "report")),
		signals: make(chan os.Signal, 1),
		beats:   make(chan int64),
		exited:  make(chan syscall.WaitStatus, 1),
	}
	return c, nil
}

// say reports to the bot. When that is gone there is nobody to tell.
func (c *child) say(r report) { _ = c.report.Encode(r) }

func (c *child) start() error {
	if err := adopt(); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	// No core files: they are large, and hold what the command knew.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core files: %w", err)
	}
	for _, fd := range []int{syscall.Stdout, syscall.Stderr} {
		if err := syscall.SetNonblock(fd, false); err != nil { // programs expect an output that waits
			return err
		}
	}
	path, err := exec.LookPath(c.argv[0])
	if err != nil {
		return err
	}
	signal.Notify(c.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	c.pid, err = syscall.ForkExec(path, c.argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attributes()})
	if err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	go c.listen()
	go c.reap()
	return nil
}

// listen passes on the beats until the lifeline closes.
func (c *child) listen() {
	defer close(c.beats)
	var msg [beatSize]byte
	for {
		if _, err := io.ReadFull(c.line, msg[:]); err != nil {
			return
		}
		c.beats <- int64(binary.LittleEndian.Uint64(msg[:]))
	}
}

// reap collects the command and every orphan that it leaves.
func (c *child) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return // no child is left
		case pid == c.pid:
			c.exited <- status
		}
	}
}

// watch waits for the command's end, or ends it, and returns how it ended.
func (c *child) watch() report {
	var status syscall.WaitStatus
	var exited, stopped, lease bool
	for !exited && !stopped && !lease {
		// The clock counts sleep of the machine and Go's timers do not, so it is looked at again and again.
		left := time.Duration(c.until - now())
		lease = left <= 0
		tick := time.NewTimer(max(0, min(left, time.Second)))
		select {
		case status = <-c.exited:
			exited = true
		case until, alive := <-c.beats:
			c.until, stopped = until, !alive
		case <-c.signals:
			stopped = true
		case <-tick.C:
		}
		tick.Stop()
	}
	left := c.sweep(exited)
	if !exited {
		select {
		case status = <-c.exited:
		case <-time.After(killLimit): // the kernel holds it
			status = syscall.WaitStatus(syscall.SIGKILL)
		}
	}
	r := report{Done: true, Exit: status.ExitStatus(), Leftover: exited && left, Lease: lease && !exited}
	if status.Signaled() {
		r.Signal = status.Signal().String()
	}
	return r
}

// sweep ends what is there of the command, and reports whether anything was. What an ended command left gets half the grace, so that its
// caller is back within a second.
func (c *child) sweep(exited bool) bool {
	find := func() []process { return below(os.Getpid(), c.pid) }
	if exited {
		return !gone(settleTime, find) && end(c.grace/2, find)
	}
	return end(c.grace, find)
}
