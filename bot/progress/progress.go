// Package progress keeps the status cards of running prompts up to date, paced for each chat. What it shows is not kept.
package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/setting"
	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/state"
	"paragents/store"
)

// A status card appears when a prompt calls a tool or takes longer than statusAfter, and is changed at most every EditRate of its chat.
const (
	statusAfter   = 1500 * time.Millisecond
	typingAfter   = 700 * time.Millisecond // nobody needs to be told that something takes less
	typingLasts   = 4 * time.Second
	statusLines   = 6
	progressQueue = 1024
	maxHands      = 32 // chats whose cards are changed at the same time
)

// Board keeps the cards of running prompts up to date.
type Board struct {
	cfg setting.Config
	mu  sync.Mutex
	// running are the status cards of prompts that run here, or have just stopped.
	running map[core.PromptID]*status
	queue   chan news
	edited  map[string]time.Time // chats in which a status card was shown or changed lately
	busy    map[string]bool      // chats whose cards are being changed, by hands
	hands   sync.WaitGroup
}

// New makes an empty board; Run shows what is noted on it.
func New(cfg setting.Config) *Board {
	return &Board{cfg: cfg, running: map[core.PromptID]*status{}, queue: make(chan news, progressQueue), edited: map[string]time.Time{}, busy: map[string]bool{}}
}

// status is the card of a prompt that runs here.
type status struct {
	sending sync.Mutex // held while the card is sent or changed
	letter  core.Letter
	began   time.Time
	lines   []string
	typing  time.Time
	id      string // of the message, once it was sent
	gone    bool   // there is no such message any more, and none comes again
	dirty   bool
	tool    bool // a tool was called

	over  bool      // the prompt has stopped running: what was said before comes too late
	until time.Time // with over: of the letter that said so, the store's
	since time.Time // with over: ours
}

// remembered is how long late progress of a prompt that has stopped is known as such.
const remembered = 10 * time.Second

// news is a piece of progress, or a mark: everything before it was shown when done is closed.
type news struct {
	letter core.Letter
	done   chan struct{}
}

// Progress takes what a run says while it goes on. It never blocks: what does not fit is dropped, as progress may be.
func (s *Board) Progress(l core.Letter) {
	select {
	case s.queue <- news{letter: l}:
	default:
	}
}

// CaughtUp waits, at most a second, until the progress so far was shown: lines come in the order in which things happened.
func (s *Board) CaughtUp(ctx context.Context) {
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
func (s *Board) Run(ctx context.Context) error {
	defer s.hands.Wait()
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
func (s *Board) note(ctx context.Context, l core.Letter) {
	adapter, ok := s.cfg.Adapter(l.Place.Platform)
	if !ok {
		return
	}
	caps := adapter.Capabilities()
	line := s.line(l, caps)
	if caps.Lines {
		if line != "" {
			for _, m := range page.Messages(page.Page{Text: page.Head(l, caps, core.Running) + line}, caps, l.Place) {
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
func (s *Board) line(l core.Letter, caps core.Capabilities) string {
	e := l.Event
	switch e.Type {
	case core.EventCall:
		return "→ " + phrase.Code(phrase.Cut(e.Show, 120))
	case core.EventResult:
		if e.OK != nil && !*e.OK {
			first, _, _ := strings.Cut(e.Output, "\n")
			return "✗ " + phrase.Escape(phrase.Cut(first, 160))
		}
		if e.Show == "" {
			return ""
		}
		return "✓ " + phrase.Code(phrase.Cut(e.Show, 120))
	case core.EventTurn:
		if caps.Lines {
			return fmt.Sprintf(phrase.Turn, e.Turn)
		}
	case core.EventNotice, core.EventCompacted:
		return phrase.Escape(e.Text)
	case core.EventApproval:
		return fmt.Sprintf("✗ %s %s", phrase.Code(phrase.Cut(e.Show, 120)), phrase.Escape(e.Rule))
	}
	return ""
}

// refresh brings the cards and typing signs of this replica's prompts up to date. Each chat has a hand of its own, so that one which is slow holds up no other; it is
// passed over while its last one is still busy.
func (s *Board) refresh(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := map[string][]*status{}
	for id, st := range s.running {
		switch {
		case !st.over:
			chat := st.letter.Place.Channel
			due[chat] = append(due[chat], st)
		case time.Since(st.since) > remembered:
			delete(s.running, id)
		}
	}
	for chat, at := range s.edited {
		if time.Since(at) > remembered {
			delete(s.edited, chat)
		}
	}
	for chat, list := range due {
		if s.busy[chat] || len(s.busy) == maxHands {
			continue
		}
		s.busy[chat] = true
		s.hands.Go(func() {
			for _, st := range list {
				s.update(ctx, st)
			}
			s.mu.Lock()
			delete(s.busy, chat)
			s.mu.Unlock()
		})
	}
}

// update shows what is new about a prompt, if it is time for that. A chat that must rest is left alone, and what was said meanwhile is shown together afterwards.
func (s *Board) update(ctx context.Context, st *status) {
	place := st.letter.Place
	adapter, ok := s.cfg.Adapter(place.Platform)
	if !ok {
		return
	}
	caps := adapter.Capabilities()
	st.sending.Lock()
	defer st.sending.Unlock()
	typer, types := adapter.(core.Typer)
	types = types && time.Since(st.began) > typingAfter && time.Since(st.typing) > typingLasts
	text, shows := s.due(st, caps)
	if !types && !shows {
		return
	}
	wait, slowly, err := delivery.Resting(ctx, s.cfg.Store, place)
	if err != nil || wait > 0 {
		return
	}
	if types {
		st.typing = time.Now()
		if err := typer.Typing(ctx, place); err != nil {
			s.cfg.Logger.Debug("cannot show typing", "error", err)
			if s.rests(ctx, place, err) {
				return
			}
		}
	}
	if !shows {
		return
	}
	ms := page.Messages(page.Page{Text: text}, caps, place)
	if len(ms) != 1 {
		return
	}
	s.mu.Lock()
	st.dirty, s.edited[place.Channel] = false, time.Now()
	s.mu.Unlock()
	if err := s.show(ctx, adapter, st, ms[0]); err != nil {
		s.cfg.Logger.Debug("cannot show the status card", "error", err)
		if s.rests(ctx, place, err) {
			s.mu.Lock()
			st.dirty = true
			s.mu.Unlock()
		}
	} else if slowly {
		if _, err := delivery.Pause(ctx, s.cfg.Store, place, caps); err != nil {
			s.cfg.Logger.Debug("cannot note that a chat was sent to", "error", err)
		}
	}
}

// due is the card of a prompt, and whether it is to be shown now.
func (s *Board) due(st *status, caps core.Capabilities) (text string, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = page.Head(st.letter, caps, core.Running) + cmp.Or(strings.Join(st.lines, "\n\n"), phrase.Thinking)
	now = caps.Edits && st.dirty && !st.over && !st.gone && (st.tool || time.Since(st.began) > statusAfter) &&
		time.Since(s.edited[st.letter.Place.Channel]) >= max(caps.EditRate, time.Second)
	return text, now
}

// rests tells all replicas if an error says that the chat has to rest.
func (s *Board) rests(ctx context.Context, p core.Place, failed error) bool {
	wait, err := delivery.Rest(ctx, s.cfg.Store, p, failed)
	if err != nil {
		s.cfg.Logger.Warn("cannot remember how long a chat has to rest", "place", p.Key(), "error", err)
	}
	return wait > 0
}

// show sends the card, or changes the one that is there. One that somebody deleted does not come again, and neither does one that may have been sent.
func (s *Board) show(ctx context.Context, adapter core.Adapter, st *status, m core.Message) error {
	name := page.StatusCard(st.letter.PromptID)
	if st.id == "" { // the prompt has run before, and waited for an answer, or another replica has died over it
		c, _, err := state.Get[delivery.Card](ctx, s.cfg.Store, state.CardKey(name))
		if err != nil {
			return err
		}
		st.id = c.Value.ID
	}
	var b state.Batch
	var fault *core.SendError
	if st.id != "" {
		err := adapter.Edit(ctx, st.id, m)
		if !errors.As(err, &fault) || fault.Fault != core.FaultGone {
			return err
		}
		st.gone = true
		b.Batch.Delete = []store.Key{state.CardKey(name)}
	} else {
		id, err := adapter.Send(ctx, m)
		if err != nil {
			st.gone = errors.As(err, &fault) && fault.Fault != core.FaultRate && fault.Fault != core.FaultRetry
			return err
		}
		st.id = id
		delivery.PutCard(&b, name, st.letter.Place, id)
	}
	if _, err := b.Commit(ctx, s.cfg.Store); err != nil {
		return fmt.Errorf("remember where the card stands: %w", err)
	}
	return nil
}

// Settled ends the card of a prompt that stops running, when nothing of it is on the way any more: what follows comes through the lane.
func (s *Board) Settled(l core.Letter, caps core.Capabilities) {
	switch l.Event.Type {
	case core.EventAnswer, core.EventEnd, core.EventQuestion, core.EventConflict:
	case core.EventApproval:
		if l.Event.State != string(core.Pending) { // what was decided does not stop it
			return
		}
	default:
		return
	}
	if caps.Lines || !caps.Edits || l.Copy != nil {
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
