package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"paragents/core"
)

var place = core.Place{Platform: Platform, Channel: "rob@host", Private: true}

// taken collects what an adapter gives, and fails for some lines.
type taken struct {
	events []core.Inbound
	fail   string
}

func (t *taken) accept(_ context.Context, events []core.Inbound, _ []byte) error {
	if events[0].Text == t.fail && t.fail != "" {
		return errors.New("the store is away")
	}
	t.events = append(t.events, events...)
	return nil
}

func receive(t *testing.T, in string, got *taken) (string, error) {
	t.Helper()
	var out bytes.Buffer
	a := New(Config{In: strings.NewReader(in), Out: &out, Place: place, Person: "terminal:rob@host"})
	err := a.Receive(t.Context(), nil, got.accept)
	return out.String(), err
}

// TestPipe: every line of a pipe is a prompt or a command; the commands that name a ref may stand without a slash, as they always could.
func TestPipe(t *testing.T) {
	for _, c := range []struct {
		line, text string
		kind       core.InboundKind
	}{
		{"list files", "list files", core.InMessage},
		{"  write milk  ", "write milk", core.InMessage},
		{"/list all", "list all", core.InCommand},
		{"/quit now", "quit now", core.InCommand},
		{"approve #1", "approve #1", core.InCommand},
		{"approve k3m9p2", "approve k3m9p2", core.InCommand},
		{"Deny K3M9P2", "Deny K3M9P2", core.InCommand},
		{"switch #12", "switch #12", core.InCommand},
		{"approve k3m9p", "approve k3m9p", core.InMessage},   // too short for a ref
		{"approve access", "approve access", core.InMessage}, // has letters that no ref has
		{"approve it please", "approve it please", core.InMessage},
		{"approve", "approve", core.InMessage},
		{"yes", "yes", core.InMessage},
		{"y", "y", core.InMessage}, // from a pipe nothing is a key
		{"a\xffb", "a\uFFFDb", core.InMessage},
	} {
		var got taken
		if _, err := receive(t, c.line+"\n/quit\n", &got); !errors.Is(err, ErrQuit) {
			t.Fatal(err)
		}
		if len(got.events) != 2 || got.events[0].Kind != c.kind || got.events[0].Text != c.text || got.events[0].Token != "" {
			t.Errorf("%q became %+v", c.line, got.events)
		}
		if e := got.events[0]; e.Place != place || e.Person != "terminal:rob@host" || !e.Addressed || e.ID == got.events[1].ID {
			t.Errorf("%q became %+v", c.line, e)
		}
	}
}

// TestLeaving: each way to leave ends the terminal, and nothing behind it is taken.
func TestLeaving(t *testing.T) {
	for in, want := range map[string][]string{
		"one\n/quit\ntwo\n": {"one", "quit"},
		"one\n/EXIT\ntwo\n": {"one", "EXIT"},
		"/q\n":              {"q"},
		"/bye":              {"bye"},
		"one\n\n\ntwo":      {"one", "two", "quit"}, // the end of the pipe
		"":                  {"quit"},
	} {
		var got taken
		if _, err := receive(t, in, &got); !errors.Is(err, ErrQuit) {
			t.Errorf("%q ends with %v", in, err)
		}
		var texts []string
		for _, e := range got.events {
			texts = append(texts, e.Text)
		}
		if !slices.Equal(texts, want) {
			t.Errorf("%q became %q", in, texts)
		}
	}
}

// TestNotTaken: a line that could not be taken is told, and the next one is tried.
func TestNotTaken(t *testing.T) {
	got := taken{fail: "two"}
	out, err := receive(t, "one\ntwo\nthree\n/quit\n", &got)
	if !errors.Is(err, ErrQuit) || len(got.events) != 3 || got.events[1].Text != "three" {
		t.Errorf("taken were %+v: %v", got.events, err)
	}
	if !strings.Contains(out, "could not be taken: the store is away") {
		t.Errorf("the person reads %q", out)
	}
}

// TestLineTooLong: a line that is over the limit ends the terminal and says why; half of it is not taken.
func TestLineTooLong(t *testing.T) {
	var got taken
	_, err := receive(t, "one\n"+strings.Repeat("x", maxLine+1)+"\n/quit\n", &got)
	if err == nil || errors.Is(err, ErrQuit) || !strings.Contains(err.Error(), "longer than 262144 bytes") {
		t.Errorf("it ends with %v", err)
	}
	if len(got.events) != 1 {
		t.Errorf("taken were %d lines", len(got.events))
	}
}

// TestBefore: a script's line waits until the one that knows says so.
func TestBefore(t *testing.T) {
	var asked []string
	var got taken
	a := New(Config{In: strings.NewReader("one\n/approve\n"), Out: io.Discard, Place: place, Before: func(_ context.Context, line string) error {
		asked = append(asked, line)
		if len(got.events) != len(asked)-1 {
			t.Errorf("asked about %q after %d lines were taken", line, len(got.events))
		}
		return nil
	}})
	if err := a.Receive(t.Context(), nil, got.accept); !errors.Is(err, ErrQuit) {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []string{"one", "/approve", "/quit"}) {
		t.Errorf("asked about %q", asked)
	}
}

// TestEndOfContext: the end of the context ends Receive, also while it waits for a line.
func TestEndOfContext(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- New(Config{In: r, Out: io.Discard, Place: place}).Receive(ctx, nil, (&taken{}).accept)
	}()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestPipeAsksNothing: where nobody can press a key there is no button, and no line asks for one.
func TestPipeAsksNothing(t *testing.T) {
	var out bytes.Buffer
	a := New(Config{In: strings.NewReader(""), Out: &out, Place: place})
	if a.Capabilities().Buttons {
		t.Error("a pipe has buttons")
	}
	for _, m := range []core.Message{
		{Text: "May this run?", Plain: "not this", Rows: [][]core.Button{{{Label: "[y]es", Token: "t", Key: "y"}}}},
		{Plain: "plain"},
		{File: &core.File{Name: "a.md", Data: []byte("whole\n")}},
	} {
		if id, err := a.Send(t.Context(), m); err != nil || id == "" {
			t.Errorf("sent as %q: %v", id, err)
		}
	}
	if got := out.String(); got != "May this run?\nplain\nwhole\n" {
		t.Errorf("it prints %q", got)
	}
	if _, err := a.Fetch(t.Context(), place, core.Attachment{}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("Fetch: %v", err)
	}
}

// broken is a terminal that has been closed.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// TestGone: a message that cannot be printed will never be.
func TestGone(t *testing.T) {
	_, err := New(Config{In: strings.NewReader(""), Out: broken{}, Place: place}).Send(t.Context(), core.Message{Text: "x"})
	var fault *core.SendError
	if !errors.As(err, &fault) || fault.Fault != core.FaultGone {
		t.Errorf("Send: %v", err)
	}
}
