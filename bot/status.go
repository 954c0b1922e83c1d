package bot

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/state"
)

// A status card appears when a prompt calls a tool or takes longer than statusAfter, and is changed at most every EditRate of its chat.
const (
	statusAfter   = 1500 * time.Millisecond
	typingAfter   = 700 * time.Millisecond // nobody needs to be told that something takes less
	statusLines   = 6
	progressQueue = 1024
)

// status is the card of a prompt that runs here.
type status struct {
	sending sync.Mutex // held while the card is sent or changed
	letter  core.Letter
	began   time.Time
	lines   []string
	typing  time.Time
	id      string    // of the message, once it was sent
	sent    time.Time // last send or edit
	dirty   bool
	tool    bool // a tool was called

	over  bool      // the prompt has stopped running: what was said before comes too late
	until time.Time // with over: of the letter that said so, the store's
	since time.Time // with over: ours
}

// remembered is how long late progress of a prompt that has stopped is known as such.
const remembered = 10 * time.Second

func statusCard(id core.PromptID) string { return "status/" + string(id) }

// news is a piece of progress, or a mark: everything before it was shown when done is closed.
type news struct {
	letter core.Letter
	done   chan struct{}
}

// Progress takes what a run says while it goes on. It never blocks: what does not fit is dropped, as progress may be.
func (s *Screen) Progress(l core.Letter) {
	select {
	case s.queue <- news{letter: l}:
	default:
	}
}

// caughtUp waits, at most a second, until the progress so far was shown: lines come in the order in which things happened.
func (s *Screen) caughtUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	mark := news{done: make(chan struct{})}
	select {
	case s.queue <- mark:
	case <-ctx.Done():
		return
	}
	select {
	case <-mark.done:
	case <-ctx.Done():
	}
}

// Run shows progress until the context ends.
func (s *Screen) Run(ctx context.Context) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-s.queue:
			if n.done != nil {
				close(n.done)
				continue
			}
			s.note(ctx, n.letter)
		case <-tick.C:
			s.refresh(ctx)
		}
	}
}

// note takes one piece of progress: a line at once where lines are shown, else something for the card.
func (s *Screen) note(ctx context.Context, l core.Letter) {
	adapter, ok := s.cfg.adapter(l.Place.Platform)
	if !ok {
		return
	}
	caps := adapter.Capabilities()
	line := s.line(l, caps)
	if caps.Lines {
		if line != "" {
			for _, m := range s.cfg.messages(page{text: s.head(l, caps, core.Running) + line}, caps, l.Place) {
				if _, err := adapter.Send(ctx, m); err != nil {
					s.cfg.Logger.Debug("cannot show progress", "error", err)
				}
			}
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.running[l.PromptID]
	if st != nil && st.over && !l.Event.Time.After(st.until) {
		return
	}
	if st == nil || st.over {
		st = &status{letter: l, began: time.Now(), dirty: true}
		s.running[l.PromptID] = st
	}
	if line != "" {
		st.lines = append(st.lines, line)
		st.dirty = true
		if len(st.lines) > statusLines {
			st.lines = st.lines[1:]
		}
	}
	st.tool = st.tool || l.Event.Type == core.EventCall
}

// line is a piece of progress as one line; "" for what is not worth one.
func (s *Screen) line(l core.Letter, caps core.Capabilities) string {
	e := l.Event
	switch e.Type {
	case core.EventCall:
		return "→ " + code(cutRunes(e.Show, 120))
	case core.EventResult:
		if e.OK != nil && !*e.OK {
			first, _, _ := strings.Cut(e.Output, "\n")
			return "✗ " + escape(cutRunes(first, 160))
		}
		if e.Show == "" {
			return ""
		}
		return "✓ " + code(cutRunes(e.Show, 120))
	case core.EventTurn:
		if caps.Lines {
			return fmt.Sprintf(saysTurn, e.Turn)
		}
	case core.EventNotice, core.EventCompacted:
		return escape(e.Text)
	case core.EventApproval:
		return fmt.Sprintf("✗ %s %s", code(cutRunes(e.Show, 120)), escape(e.Rule))
	}
	return ""
}

// refresh brings the cards and typing signs of this replica's prompts up to date.
func (s *Screen) refresh(ctx context.Context) {
	s.mu.Lock()
	var due []*status
	for id, st := range s.running {
		switch {
		case !st.over:
			due = append(due, st)
		case time.Since(st.since) > remembered:
			delete(s.running, id)
		}
	}
	s.mu.Unlock()
	for _, st := range due {
		s.update(ctx, st)
	}
}

func (s *Screen) update(ctx context.Context, st *status) {
	adapter, ok := s.cfg.adapter(st.letter.Place.Platform)
	if !ok {
		return
	}
	caps := adapter.Capabilities()
	st.sending.Lock()
	defer st.sending.Unlock()
	if t, ok := adapter.(core.Typer); ok && time.Since(st.began) > typingAfter && time.Since(st.typing) > 4*time.Second {
		st.typing = time.Now()
		if err := t.Typing(ctx, st.letter.Place); err != nil {
			s.cfg.Logger.Debug("cannot show typing", "error", err)
		}
	}
	s.mu.Lock()
	show := (st.tool || time.Since(st.began) > statusAfter) && st.dirty && time.Since(st.sent) >= max(caps.EditRate, time.Second)
	text := s.head(st.letter, caps, core.Running) + cmp.Or(strings.Join(st.lines, "\n\n"), saysThinking)
	show = show && !st.over
	if show {
		st.dirty, st.sent = false, time.Now()
	}
	s.mu.Unlock()
	if !show || !caps.Edits {
		return
	}
	ms := s.cfg.messages(page{text: text}, caps, st.letter.Place)
	if len(ms) != 1 {
		return
	}
	if st.id == "" { // the prompt has run before, and waited for an answer, or another replica has died over it
		c, _, err := state.Get[delivery.Card](ctx, s.cfg.Store, state.CardKey(statusCard(st.letter.PromptID)))
		if err != nil {
			s.cfg.Logger.Debug("cannot look for the status card", "error", err)
			return
		}
		st.id = c.Value.ID
	}
	if st.id != "" {
		if err := adapter.Edit(ctx, st.id, ms[0]); err != nil {
			s.cfg.Logger.Debug("cannot change the status card", "error", err)
		}
		return
	}
	id, err := adapter.Send(ctx, ms[0])
	if err != nil {
		s.cfg.Logger.Debug("cannot send the status card", "error", err)
		return
	}
	st.id = id
	var b state.Batch
	delivery.PutCard(&b, statusCard(st.letter.PromptID), st.letter.Place, id)
	if _, err := b.Commit(ctx, s.cfg.Store); err != nil {
		s.cfg.Logger.Warn("cannot remember the status card; its end will be a message of its own", "error", err)
	}
}

// settled ends the card of a prompt that stops running, when nothing of it is on the way any more: what follows comes through the lane.
func (s *Screen) settled(l core.Letter, caps core.Capabilities) {
	switch l.Event.Type {
	case core.EventEnd, core.EventQuestion, core.EventConflict:
	case core.EventApproval:
		if l.Event.State != string(core.Pending) { // what was decided does not stop it
			return
		}
	default:
		return
	}
	if caps.Lines || !caps.Edits {
		return
	}
	s.mu.Lock()
	st := s.running[l.PromptID]
	if st == nil {
		st = &status{letter: l}
		s.running[l.PromptID] = st
	}
	st.over, st.until, st.since = true, l.Event.Time, time.Now()
	s.mu.Unlock()
	st.sending.Lock()
	defer st.sending.Unlock()
}
