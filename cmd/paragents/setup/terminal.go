package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Terminal is where the person sits: a real terminal, on which secrets are typed unseen, or a pipe with a line for each answer.
type Terminal struct {
	In  *os.File
	Out io.Writer

	lines *bufio.Reader
}

// Real reports whether somebody can be asked again.
func (t *Terminal) Real() bool { return term.IsTerminal(int(t.In.Fd())) }

func (t *Terminal) say(format string, args ...any) { fmt.Fprintf(t.Out, format+"\n", args...) }

// ask asks for a line. The error is io.EOF when there is none any more, or the context's.
func (t *Terminal) ask(ctx context.Context, what string) (string, error) {
	fmt.Fprint(t.Out, what)
	if t.lines == nil {
		t.lines = bufio.NewReader(t.In)
	}
	return t.read(ctx, func() (string, error) {
		line, err := t.lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			err = nil
		}
		return line, err
	})
}

// secret asks for a line that is not shown.
func (t *Terminal) secret(ctx context.Context, what string) (string, error) {
	if !t.Real() {
		return t.ask(ctx, what)
	}
	fmt.Fprint(t.Out, what)
	fd := int(t.In.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	text, err := t.read(ctx, func() (string, error) {
		raw, err := term.ReadPassword(fd)
		return string(raw), err
	})
	if ctx.Err() != nil { // whoever reads is still at it, and cannot put it back
		err = errors.Join(err, term.Restore(fd, before))
	}
	fmt.Fprintln(t.Out)
	return text, err
}

// read waits for a line, or for the end of the context: then the reader stays behind until the process ends.
func (t *Terminal) read(ctx context.Context, line func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	got := make(chan result, 1)
	go func() {
		text, err := line()
		got <- result{text, err}
	}()
	select {
	case r := <-got:
		return strings.TrimSpace(r.text), r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
