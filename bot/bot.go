// Package bot is what people meet: it turns what comes in from platforms into commands, decisions and prompts, and what runs have to say into
// messages. It knows no platform by name, only what each can do.
//
// Desk is the way in, Screen the way out. Every sentence that a person sees stands in text.go.
package bot

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"paragents/bot/markup"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/core/worktree"
	"paragents/store"
)

// Workspace is a workspace as people see it.
type Workspace struct {
	Name         string
	Dir          string
	Capabilities []string
	Deny         []string
	Ask          []string
	Allow        []string
	Busy         string // what a message to a session at work does: queue, steer, interrupt
}

// Config is what both sides of the bot need.
type Config struct {
	Store      store.Store
	Adapters   []core.Adapter
	Access     access.Access
	Workspaces []Workspace // the first is the default
	// At says what is different at a place: its workspace and whose messages count in a thread ("owner", "everyone", "mention"). May be nil.
	At func(core.Place) (workspace, threadReplies string)
	// Explain says what the rules of a workspace, with what people stored, say about a call written Tool(input). May be nil.
	Explain func(workspace string, stored []scheduler.StoredRule, call string) (string, error)
	// Notify says where questions are shown besides the place of their prompt: NotifyThread, NotifyDM or NotifyChannel. Empty: nowhere.
	Notify string
	Demo   bool // the demo model answers
	// Redact takes secrets out of what files hold, before it is shown. Nil: nothing is taken out.
	Redact func(text string) string
	// Settings is the configuration as it holds, without secrets. Nil: there is none to show.
	Settings func() string
	// Git looks after the worktrees of isolated sessions. Nil: there are none.
	Git    *worktree.Git
	Logger *slog.Logger
}

func (c Config) adapter(platform string) (core.Adapter, bool) {
	for _, a := range c.Adapters {
		if a.Capabilities().Platform == platform {
			return a, true
		}
	}
	return nil, false
}

// press is what a button does: the document that its token leads to.
type press struct {
	Do        verb              `json:"do"`
	Session   core.SessionID    `json:"session,omitempty"`
	Prompt    core.PromptID     `json:"prompt,omitempty"`
	Approval  core.ApprovalID   `json:"approval,omitempty"`
	Approvals []core.ApprovalID `json:"approvals,omitempty"` // all at once
	Command   string            `json:"command,omitempty"`   // with doCommand: the command line
	For       core.Person       `json:"for,omitempty"`       // only this person may press it
	Scope     core.Scope        `json:"scope,omitempty"`
	Wide      bool              `json:"wide,omitempty"` // with Scope: the wider rules
	New       bool              `json:"new,omitempty"`  // with doMove: a session of its own

	// Somebody who asked to be let in, where, and the role that they would get.
	Asker core.Person `json:"asker,omitempty"`
	At    core.Place  `json:"at,omitzero"`
	Role  string      `json:"role,omitempty"`

	// A message that came late: what it was, and the event that brought it.
	Event   string            `json:"event,omitempty"`
	Text    string            `json:"text,omitempty"`
	Message string            `json:"message,omitempty"`
	Files   []core.Attachment `json:"files,omitempty"`
	Entered []string          `json:"entered,omitempty"`
}

type verb string

const (
	doApprove  verb = "approve"
	doScope    verb = "scope" // show what a wider yes would store, and ask for it
	doDeny     verb = "deny"
	doAskFor   verb = "ask-for"  // ask who may decide
	doReason   verb = "reason"   // ask why not
	doDenyWhy  verb = "deny-why" // the answer to that
	doConfirm  verb = "confirm"  // the second press of a dangerous yes
	doResume   verb = "resume"
	doCancel   verb = "cancel"
	doRunHeld  verb = "run-held"
	doDropHeld verb = "drop-held"
	doCommand  verb = "command"
	doRunLate  verb = "run-late"
	doDropLate verb = "drop-late"
	doAsk      verb = "ask"   // to be let in
	doGrant    verb = "grant" // Role to Asker
	doMove     verb = "move"  // take the prompt out of its session: with Session or New, give it there, else ask where
)

// buttonKept is longer than an approval waits.
const buttonKept = 8 * 24 * time.Hour

// buttons collects what the buttons of a message lead to.
type buttons struct {
	presses map[string]press
}

func (b *buttons) add(label, style string, p press) core.Button {
	if b.presses == nil {
		b.presses = map[string]press{}
	}
	token := newToken()
	b.presses[token] = p
	return core.Button{Label: label, Token: token, Style: style, Key: keys[label]}
}

// put stores them, so that any replica can follow a press.
func (b *buttons) put(batch *state.Batch) {
	for token, p := range b.presses {
		batch.Put(state.ButtonKey(token), p, buttonKept)
	}
}

// page is something to show: Markdown, and the rows of buttons under its last piece. What is too long becomes a head and a file.
type page struct {
	head string // in front of the text, and not in the file
	text string
	rows [][]core.Button
	file *core.File // goes first
	card string     // names the last message, so that it can be changed
	open bool       // for everybody to see, also where its answers are for the visitor alone: it must not get lost
	// answer: a code block in it that is too long for a chat, such as a tool's output, makes it a head and a file as well.
	answer bool
}

// pieces renders text for a platform.
func (c Config) pieces(text string, caps core.Capabilities) []markup.Piece {
	return markup.Render(text, markup.Dialect(caps.Dialect), markup.Limits{Unit: markup.Unit(caps.Unit), Max: caps.Max})
}

// messages renders a page for a place.
func (c Config) messages(p page, caps core.Capabilities, place core.Place) []core.Message {
	pieces := c.pieces(p.head+p.text, caps)
	_, lines := blocks(p.text)
	if (len(pieces) > maxPieces || p.answer && lines > maxBlock) && caps.Files && p.file == nil {
		p.file = &core.File{Name: "answer.md", Data: []byte(p.text)}
		pieces = c.pieces(p.head+beginning(p.text, min(headRunes, caps.Max/2))+"\n\n"+saysInFile, caps)
	}
	out := make([]core.Message, 0, len(pieces)+1)
	if p.file != nil && caps.Files {
		out = append(out, core.Message{Place: place, File: p.file, Silent: true})
	}
	for _, piece := range pieces {
		out = append(out, core.Message{Place: place, Text: piece.Text, Plain: piece.Plain, Silent: true})
	}
	if n := len(out); n > 0 {
		out[n-1].Card = p.card
	}
	if n := len(out); n > 0 && caps.Buttons {
		out[n-1].Rows = p.rows
		if caps.Lines {
			onKeys(p.rows)
		}
	}
	return out
}

// onKeys labels buttons for a keyboard; those without a key of their own get numbers.
func onKeys(rows [][]core.Button) {
	n := 0
	for _, row := range rows {
		for i := range row {
			b := &row[i]
			if label, ok := keyLabels[b.Label]; ok {
				b.Label = label
				continue
			}
			if b.Key == "" {
				n++
				b.Key = strconv.Itoa(n)
			}
			b.Label = "[" + b.Key + "] " + b.Label
		}
	}
}

const (
	maxPieces = 3    // more of them become a head and a file
	maxBlock  = 40   // lines of a code block in an answer
	headRunes = 1200 // of the head, and
	headLines = 20   // of it
)

// beginning is the part of a long text that a chat shows.
func beginning(text string, runes int) string {
	if lines := strings.SplitAfterN(text, "\n", headLines+1); len(lines) > headLines {
		text = strings.TrimRight(strings.Join(lines[:headLines], ""), "\n") + "\n…"
	}
	return closed(cutRunes(text, runes))
}

// closed ends a code block that a cut has left open, so that what follows does not become part of it.
func closed(text string) string {
	if open, _ := blocks(text); open != "" {
		return text + "\n" + open
	}
	return text
}

// blocks is the mark of the code block that a text leaves open, and how many lines its longest one has.
func blocks(text string) (open string, longest int) {
	lines := 0
	for line := range strings.SplitSeq(text, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case open == "" && len(ticks) >= 3:
			open, lines = ticks, 0
		case open != "" && len(ticks) >= len(open) && strings.Trim(line, "` ") == "":
			open = ""
		case open != "":
			lines++
			longest = max(longest, lines)
		}
	}
	return open, longest
}

func cutRunes(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

// New makes both sides of the bot. The scheduler is given to the desk by Serve, because it needs the screen first.
func New(cfg Config) (*Screen, *Desk) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	screen := newScreen(cfg)
	return screen, &Desk{cfg: cfg, screen: screen, replies: make(chan reply, maxReplies), entries: entries()}
}

// Courier makes the courier whose letters the screen renders.
func (s *Screen) Courier() *delivery.Courier {
	return delivery.New(delivery.Config{Store: s.cfg.Store, Render: s.Render, Adapter: s.cfg.adapter, GivenUp: s.givenUp, Logger: s.cfg.Logger})
}

// givenUp follows a letter that its place does not take: whoever should have answered it cannot.
func (s *Screen) givenUp(ctx context.Context, l core.Letter, why string) error {
	if !l.Event.Asks() || s.s == nil {
		return nil
	}
	if l.Copy != nil {
		return s.unreached(ctx, l, why)
	}
	return s.s.Unreachable(ctx, l.PromptID, why)
}

var _ scheduler.Courier = (*delivery.Courier)(nil)
