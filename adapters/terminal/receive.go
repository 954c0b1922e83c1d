package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"

	"paragents/core"
)

// maxLine bounds a line, in bytes.
const maxLine = 256 << 10

// Receive takes lines until the person leaves (ErrQuit), the pipe ends (ErrQuit), or the context does (nil).
func (a *Adapter) Receive(ctx context.Context, _ []byte, accept func(context.Context, []core.Inbound, []byte) error) error {
	next := a.piped(ctx)
	if a.tty != nil {
		next = a.typed
	}
	for {
		line, token, err := next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			line = "/quit"
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		}
		if line == "" && token == "" {
			continue
		}
		e := a.event(line, token)
		if a.tty == nil && a.cfg.Before != nil {
			if err := a.cfg.Before(ctx, line); err != nil {
				return err
			}
		}
		if err := accept(ctx, []core.Inbound{e}, nil); err != nil && ctx.Err() == nil {
			a.mu.Lock()
			a.print(fmt.Sprintf("This could not be taken: %v. Write it again.\n", err)) //nolint:errcheck // there is nobody else to tell
			a.mu.Unlock()
		}
		if leaves(line) {
			return ErrQuit
		}
	}
}

// leaves reports whether a line ends the terminal.
func leaves(line string) bool {
	switch strings.ToLower(line) {
	case "/quit", "/exit", "/q", "/bye":
		return true
	}
	return false
}

func (a *Adapter) event(line, token string) core.Inbound {
	id := Platform + ":" + ulid.Make().String()
	e := core.Inbound{ID: id, Kind: core.InMessage, Place: a.cfg.Place, Person: a.cfg.Person, Name: string(a.cfg.Person), Text: line, Addressed: true}
	switch {
	case token != "":
		e.Kind, e.Token = core.InPress, token
	case strings.HasPrefix(line, "/"):
		e.Kind, e.Text = core.InCommand, strings.TrimPrefix(line, "/")
	case bare(line):
		e.Kind = core.InCommand
	}
	return e
}

// bare recognises the commands that have always been typed without a slash: those that name what they are about by a ref.
func bare(line string) bool {
	words := strings.Fields(strings.ToLower(line))
	if len(words) != 2 {
		return false
	}
	switch words[0] {
	case "approve", "deny", "pause", "resume", "cancel", "retry", "switch", "status":
		ref := strings.TrimPrefix(words[1], "#")
		return ref != words[1] || len(ref) == core.RefLen && core.LooksLikeRef(ref)
	}
	return false
}

// piped reads lines from a pipe. The reading goroutine ends with the pipe: a read from a pipe cannot be interrupted.
func (a *Adapter) piped(ctx context.Context) func(context.Context) (string, string, error) {
	type read struct {
		line string
		err  error
	}
	lines := make(chan read)
	if a.tty == nil {
		go func() {
			sc := bufio.NewScanner(a.cfg.In)
			sc.Buffer(make([]byte, 0, 4<<10), maxLine)
			for sc.Scan() {
				select {
				case lines <- read{line: strings.TrimSpace(strings.ToValidUTF8(sc.Text(), "\uFFFD"))}:
				case <-ctx.Done():
					return
				}
			}
			err := sc.Err()
			switch {
			case errors.Is(err, bufio.ErrTooLong):
				err = fmt.Errorf("a line is longer than %d bytes; put it into a file of the workspace and name that", maxLine)
			case err == nil:
				err = io.EOF
			}
			select {
			case lines <- read{err: err}:
			case <-ctx.Done():
			}
		}()
	}
	return func(ctx context.Context) (string, string, error) {
		select {
		case <-ctx.Done():
			return "", "", context.Cause(ctx)
		case r := <-lines:
			return r.line, "", r.err
		}
	}
}

// typed reads a line from a real terminal. It is read under the lock under which questions are asked, so it was typed either before a question was shown, and then
// answers nothing, or after.
func (a *Adapter) typed(ctx context.Context) (line, token string, err error) {
	fd := int(a.tty.Fd())
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return "", "", err
		}
		if n <= 0 {
			continue
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil || n <= 0 {
			return "", "", nil // it was thrown away while we waited for the lock
		}
		buf := make([]byte, 64<<10)
		n, err = unix.Read(fd, buf)
		if err != nil {
			return "", "", err
		}
		if n == 0 {
			return "", "", io.EOF
		}
		a.behind = false // the terminal has echoed the end of the line
		line = strings.TrimSpace(strings.ToValidUTF8(string(buf[:n]), "\uFFFD"))
		if len(a.questions) > 0 {
			if t, ok := a.questions[0].keys[strings.ToLower(line)]; ok && line != "" {
				a.questions = a.questions[1:]
				return line, t, a.ask()
			}
			if line == "" {
				return "", "", a.ask()
			}
			if meant(line) {
				return "", "", errors.Join(a.print("To answer type "+a.questions[0].ways()+", and Enter.\n"), a.ask())
			}
		}
		return line, "", nil
	}
	return "", "", context.Cause(ctx)
}

// meant reports whether a line was surely meant for the question, though it is none of its answers. It neither decides anything nor becomes a prompt.
func meant(line string) bool {
	return utf8.RuneCountInString(line) == 1 || strings.EqualFold(line, "yes") || strings.EqualFold(line, "no")
}

// dropTyped throws away what was typed and not read.
func dropTyped(tty *os.File) error {
	return flush(int(tty.Fd()))
}
