// Package terminal is the terminal as a platform: lines in, lines out. It is the adapter that needs no network, and the first that a newcomer meets.
//
// On a real terminal a question is a line of its own, answered by one key and Enter. Nothing that was typed before the question appeared can answer it, and from a
// pipe nothing can: there, questions are answered by commands that name them.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"paragents/core"
)

// Platform is the name of the platform in places and people.
const Platform = "terminal"

// Config is what a terminal needs.
type Config struct {
	In     io.Reader // an *os.File that is a terminal makes questions answerable by keys
	Out    io.Writer
	Place  core.Place
	Person core.Person
	// Before is called before a line from a pipe is taken, and may wait: a script has no eyes. May be nil.
	Before func(ctx context.Context, line string) error
}

// Adapter implements core.Adapter.
type Adapter struct {
	cfg Config
	tty *os.File // nil: a pipe

	mu        sync.Mutex // over what is printed and asked; a line is read from a terminal under it
	questions []question
	behind    bool // the cursor stands behind a question
	number    int
}

// question is a message with buttons that waits for a key.
type question struct {
	card string
	text string
	keys map[string]string // key to token
}

// ErrQuit is returned by Receive when the person left, or the pipe ended.
var ErrQuit = errors.New("the terminal was left")

// New makes the adapter.
func New(cfg Config) *Adapter {
	a := &Adapter{cfg: cfg}
	if f, ok := cfg.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		a.tty = f
	}
	return a
}

// Capabilities says what a terminal can do. Buttons exist only where somebody can press a key.
func (a *Adapter) Capabilities() core.Capabilities {
	return core.Capabilities{Platform: Platform, Dialect: "plain", Unit: "rune", Max: 100_000, Buttons: a.tty != nil, Slash: "/", Lines: true}
}

// Fetch: nobody can send a file to a terminal.
func (a *Adapter) Fetch(context.Context, core.Place, core.Attachment) (io.ReadCloser, error) {
	return nil, fmt.Errorf("fetch attachment: a terminal has none: %w", core.ErrNotFound)
}
