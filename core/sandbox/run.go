package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// ChildArg is the first argument of the program that makes it the helper of a command.
const ChildArg = "__child"

const (
	killLimit  = time.Second // how long processes are sent KILL before they are given up
	drainLimit = time.Second // for the rest of the output when all processes are gone; reached only if one escaped
	copyBuffer = 64 << 10
)

// report is what the helper says about the command, as JSON on a pipe: first the process, then how it ended.
type report struct {
	Pid      int    `json:"pid,omitempty"` // of the command, and so the id of its session
	Exit     int    `json:"exit"`
	Signal   string `json:"signal,omitempty"`
	Leftover bool   `json:"leftover,omitempty"`
	Lease    bool   `json:"lease,omitempty"` // ended because no beat came in time
	Done     bool   `json:"done,omitempty"`
	Error    string `json:"error,omitempty"` // it could not be started
}

// Run runs a command to its end and returns how that was; no process of it is left, except as the package says. When ctx ends, all its
// processes get TERM, and KILL when the grace has passed. With an error the outcome still holds the output so far.
//
// Errors: the cause of ctx, ErrLease, ErrEnded, or why the command could not be started.
func (r *Runner) Run(ctx context.Context, c Command) (Outcome, error) {
	if len(c.Argv) == 0 || c.Timeout <= 0 {
		return Outcome{}, errors.New("run command: it needs a program and a time limit")
	}
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	start := time.Now()
	h, err := r.start(c)
	if err != nil {
		return Outcome{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	timer := time.NewTimer(c.Timeout)
	defer timer.Stop()

	out := Outcome{Exit: -1}
	var cause error
	select {
	case <-h.done:
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-timer.C:
		out.TimedOut = true
	}
	if r.drop(h.line) {
		cause = ErrEnded
	}
	err = r.settle(h)
	out.Head, out.Tail, out.Size, out.Kept = h.rec.head, h.rec.tail, h.rec.size, h.rec.kept
	out.Took = time.Since(start)
	if err != nil {
		return out, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	out.Exit, out.Signal, out.Leftover = h.last.Exit, h.last.Signal, h.last.Leftover
	if cause != nil {
		return out, fmt.Errorf("run %s: %w", c.Argv[0], cause)
	}
	if h.last.Lease {
		return out, fmt.Errorf("run %s: %w", c.Argv[0], ErrLease)
	}
	return out, nil
}

// helper is a started helper process. Until done is closed, its goroutines own the fields behind it.
type helper struct {
	cmd    *exec.Cmd
	line   *lifeline
	out    *os.File // reading end of the command's output
	errs   *os.File // of its standard error, if that is kept apart
	copied chan struct{}
	rec    *recorder
	done   chan struct{}
	first  report
	last   report
}

// start starts the helper and enters its lifeline.
func (r *Runner) start(c Command) (*helper, error) {
	var ends []*os.File
	pipe := func() (*os.File, *os.File, error) {
		rd, wr, err := os.Pipe()
		if err == nil {
			ends = append(ends, rd, wr)
		}
		return rd, wr, err
	}
	lineR, lineW, err1 := pipe()
	repR, repW, err2 := pipe()
	outR, outW, err3 := pipe()
	var errR, errW *os.File
	var err4 error
	if c.Errors != nil {
		errR, errW, err4 = pipe()
	}
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		closeAll(ends)
		return nil, err
	}

	line := &lifeline{w: lineW}
	r.mu.Lock()
	until := r.until
	r.live[line] = true
	r.mu.Unlock()

	args := []string{ChildArg, strconv.FormatInt(until, 10), r.grace.String(), "--"}
	cmd := exec.Command(r.exe, append(args, c.Argv...)...)
	cmd.Dir = c.Dir
	cmd.Env = append([]string{}, c.Env...) // never nil, which would mean the bot's own
	cmd.Stdout, cmd.Stderr = outW, outW
	if errW != nil {
		cmd.Stderr = errW
	}
	cmd.ExtraFiles = []*os.File{lineR, repW}
	if r.alive != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, r.alive)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // keys pressed in the bot's terminal are not for it
	err := ErrLease
	if now() < until {
		err = cmd.Start()
	}
	if err != nil {
		r.drop(line)
		closeAll(ends)
		return nil, err
	}
	closeAll([]*os.File{lineR, repW, outW, errW}) // closing nil does nothing

	h := &helper{cmd: cmd, line: line, out: outR, errs: errR, copied: make(chan struct{}), rec: newRecorder(c.Output, c.Limit), done: make(chan struct{})}
	// They end with the last process that holds the pipe, or at the deadline that settle sets. The plain types keep the buffer small.
	drain := func(to *recorder, from *os.File) {
		_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, copyBuffer))
	}
	go func() {
		defer close(h.copied)
		if errW != nil {
			var apart sync.WaitGroup
			defer apart.Wait()
			apart.Go(func() { drain(newRecorder(c.Errors, 0), errR) })
		}
		drain(h.rec, outR)
	}()
	go func() {
		defer close(h.done)
		defer repR.Close()
		dec := json.NewDecoder(io.LimitReader(repR, copyBuffer))
		if dec.Decode(&h.first) == nil && !h.first.Done {
			_ = dec.Decode(&h.last) // a helper that was killed says nothing, which Run reports
		} else {
			h.last = h.first
		}
		_ = cmd.Wait() // its status is in the report
	}()
	return h, nil
}

// drop closes the lifeline, and reports whether KillAll did so before.
func (r *Runner) drop(l *lifeline) (ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.live, l)
	l.close()
	return l.ended
}

// settle waits for the helper, whose lifeline is closed, and for the output, and cleans up after a helper that was killed. Without an
// error, h.last says how the command ended.
func (r *Runner) settle(h *helper) error {
	err := r.await(h)
	if err == nil && !h.last.Done && h.first.Pid != 0 {
		r.log.Warn("end command: its helper was killed", "pid", h.cmd.Process.Pid)
		end(0, func() []process { return inSession(h.first.Pid) })
		err = errors.New("its helper was killed, and the command with it")
	}
	_ = h.out.SetReadDeadline(time.Now().Add(drainLimit))
	if h.errs != nil {
		_ = h.errs.SetReadDeadline(time.Now().Add(drainLimit))
	}
	<-h.copied
	_ = h.out.Close()
	if h.errs != nil {
		_ = h.errs.Close()
	}
	switch {
	case err != nil:
		return err
	case h.last.Error != "":
		return errors.New(h.last.Error)
	case h.first.Pid == 0:
		return fmt.Errorf("%s %s did not start a command: %.200q", r.exe, ChildArg, h.rec.head)
	}
	return nil
}

// await waits until the helper is gone, and kills one that does not go.
func (r *Runner) await(h *helper) error {
	for _, limit := range []time.Duration{r.grace + 3*killLimit, killLimit} {
		timer := time.NewTimer(limit)
		select {
		case <-h.done:
			timer.Stop()
			return nil
		case <-timer.C:
			r.log.Error("end command: its helper does not answer and is killed", "pid", h.cmd.Process.Pid)
			_ = h.cmd.Process.Kill()
		}
	}
	return errors.New("its helper cannot be killed, and the command may go on")
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
