package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paragents/core"
)

// screen is a real terminal with somebody before it.
type screen struct {
	t      *testing.T
	keys   *os.File // what they type
	tty    *os.File
	a      *Adapter
	events chan core.Inbound
	ended  chan error

	mu    sync.Mutex
	shown strings.Builder
}

// newScreen opens a terminal, and receives from it if asked to.
func newScreen(t *testing.T, receives bool) *screen {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := keys.SyscallConn() // not Fd: that would make reading wait for ever
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, keys: keys, tty: tty, events: make(chan core.Inbound, 64), ended: make(chan error, 1)}
	s.a = New(Config{In: tty, Out: s, Place: place, Person: "terminal:rob@host"})
	ctx, cancel := context.WithCancel(t.Context())
	if receives {
		s.receive(ctx)
	}
	t.Cleanup(func() {
		cancel()
		if receives {
			if err := <-s.ended; err != nil && !errors.Is(err, ErrQuit) {
				t.Error(err)
			}
		}
		tty.Close()
		keys.Close()
	})
	return s
}

func (s *screen) receive(ctx context.Context) {
	go func() {
		s.ended <- s.a.Receive(ctx, nil, func(_ context.Context, events []core.Inbound, _ []byte) error {
			s.events <- events[0]
			return nil
		})
	}()
}

// Write is what the adapter prints.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(p)
}

// reads returns what was printed since the last call.
func (s *screen) reads() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.shown.String()
	s.shown.Reset()
	return out
}

// types lets the person type.
func (s *screen) types(text string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// typed lets the person type, and returns when the terminal has it: it has echoed it, a line end as two signs.
func (s *screen) typed(text string) {
	s.t.Helper()
	s.types(text)
	if err := s.keys.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.ReadFull(s.keys, make([]byte, len(text)+strings.Count(text, "\n"))); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) asks(card string, keys ...string) {
	s.t.Helper()
	var row []core.Button
	for _, k := range keys {
		row = append(row, core.Button{Label: "[" + k + "]", Token: "token-" + card + "-" + k, Key: k})
	}
	if _, err := s.a.Send(s.t.Context(), core.Message{Text: "May " + card + " run?", Rows: [][]core.Button{row}, Card: card}); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until exactly this was printed since the last look.
func (s *screen) shows(text string) {
	s.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(10 * time.Second)
	for got := ""; got != text; got += s.reads() {
		select {
		case <-tick.C:
		case <-end:
			s.t.Fatalf("it shows %q, and not %q", got, text)
		}
	}
}

func (s *screen) next() core.Inbound {
	s.t.Helper()
	select {
	case e := <-s.events:
		return e
	case <-time.After(10 * time.Second):
		s.t.Fatal("nothing came of what was typed")
		return core.Inbound{}
	}
}

// TestQuestion: a question stands on a line of its own, below what it is about, and one key and Enter answer it.
func TestQuestion(t *testing.T) {
	s := newScreen(t, true)
	s.asks("A", "y", "s", "n")
	if got := s.reads(); got != "May A run?\n[y]  [s]  [n] > " {
		t.Errorf("it shows %q", got)
	}
	s.types("y\n")
	if e := s.next(); e.Kind != core.InPress || e.Token != "token-A-y" {
		t.Errorf("y became %+v", e)
	}
	s.asks("B", "y", "n")
	s.types("N\n")
	if e := s.next(); e.Token != "token-B-n" {
		t.Errorf("N became %+v", e)
	}
	s.types("y\n") // there is no question any more
	if e := s.next(); e.Kind != core.InMessage || e.Text != "y" {
		t.Errorf("y without a question became %+v", e)
	}
}

// TestTypedBefore: what was typed before a question appeared does not answer it: not a whole line, not half of one, not several.
func TestTypedBefore(t *testing.T) {
	for _, before := range []string{"y\n", "y", "y\ny\n", "yes, do it\ny\n"} {
		t.Run(fmt.Sprintf("%q", before), func(t *testing.T) {
			s := newScreen(t, false) // nobody reads yet
			s.typed(before)
			s.asks("A", "y", "n")
			ctx, cancel := context.WithCancel(t.Context())
			s.receive(ctx)
			s.reads()
			s.types("\n") // the end of a line that is empty: it asks again
			s.shows("[y]  [n] > ")
			s.types("what was that?\n") // all that was typed before it would have come first
			if e := s.next(); e.Kind != core.InMessage || e.Text != "what was that?" {
				t.Errorf("it became %+v", e)
			}
			s.types("y\n")
			if e := s.next(); e.Token != "token-A-y" {
				t.Errorf("y became %+v", e)
			}
			cancel()
			if err := <-s.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestQuestionsInTurn: the second question is asked when the first is answered; one that is decided elsewhere is not asked any more.
func TestQuestionsInTurn(t *testing.T) {
	s := newScreen(t, true)
	s.asks("A", "y", "n")
	s.asks("B", "y", "q")
	s.asks("C", "y", "z")
	s.reads()
	s.types("\n") // asks again
	s.shows("[y]  [n] > ")
	s.types("y\n")
	if e := s.next(); e.Token != "token-A-y" {
		t.Errorf("the first answer became %+v", e)
	}
	if _, err := s.a.Send(t.Context(), core.Message{Text: "B was approved by ann", Card: "B"}); err != nil {
		t.Fatal(err)
	}
	got := s.reads()
	if !strings.HasSuffix(got, "B was approved by ann\n[y]  [z] > ") {
		t.Errorf("it shows %q", got)
	}
	s.types("z\n")
	if e := s.next(); e.Token != "token-C-z" {
		t.Errorf("the last answer became %+v", e)
	}
}

// TestOtherLines: with a question open, any other line is what it always is.
func TestOtherLines(t *testing.T) {
	s := newScreen(t, true)
	s.asks("A", "y", "n")
	for typed, want := range map[string]core.InboundKind{"/list\n": core.InCommand, "yes, and then list it\n": core.InMessage, "approve #1\n": core.InCommand, "ok\n": core.InMessage} {
		s.types(typed)
		if e := s.next(); e.Kind != want || e.Token != "" {
			t.Errorf("%q became %+v", typed, e)
		}
	}
	s.types("n\n")
	if e := s.next(); e.Token != "token-A-n" {
		t.Errorf("n became %+v", e)
	}
}

// TestOwnLine: what is said while a question stands there begins a line of its own, and the question is asked again below it.
func TestOwnLine(t *testing.T) {
	s := newScreen(t, true)
	s.asks("A", "y", "n")
	s.reads()
	if _, err := s.a.Send(t.Context(), core.Message{Text: "B is done"}); err != nil {
		t.Fatal(err)
	}
	if got := s.reads(); got != "\nB is done\n[y]  [n] > " {
		t.Errorf("it shows %q", got)
	}
	s.types("n\n")
	s.next()
	if _, err := s.a.Send(t.Context(), core.Message{Text: "A was denied"}); err != nil {
		t.Fatal(err)
	}
	if got := s.reads(); got != "A was denied\n" {
		t.Errorf("behind an answer it shows %q", got)
	}
}

// TestNearlyAnAnswer: what can only be meant for the question, but is none of its answers, is no answer and no prompt: it is asked again, with the keys that answer it.
func TestNearlyAnAnswer(t *testing.T) {
	s := newScreen(t, true)
	s.asks("A", "1", "n")
	for _, typed := range []string{"y\n", "yes\n", "No\n", "2\n"} {
		s.reads()
		s.types(typed)
		s.shows("To answer type 1 or n, and Enter.\n[1]  [n] > ")
	}
	s.types("1\n")
	if e := s.next(); e.Token != "token-A-1" {
		t.Errorf("1 became %+v", e)
	}
}

// TestEndOfInput: Ctrl-D on an empty line leaves.
func TestEndOfInput(t *testing.T) {
	s := newScreen(t, false)
	s.receive(t.Context())
	s.types("\x04")
	if e := s.next(); e.Kind != core.InCommand || e.Text != "quit" {
		t.Errorf("it became %+v", e)
	}
	if err := <-s.ended; !errors.Is(err, ErrQuit) {
		t.Errorf("it ends with %v", err)
	}
}
