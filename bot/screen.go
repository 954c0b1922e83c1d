package bot

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/store"
)

// Screen is the way out: it renders letters, and keeps the cards of running prompts up to date.
type Screen struct {
	cfg Config
	s   *scheduler.Scheduler
	mu  sync.Mutex
	// running are the status cards of prompts that run here, or have just stopped.
	running map[core.PromptID]*status
	queue   chan news
	edited  map[string]time.Time // chats in which a status card was shown or changed lately
	busy    map[string]bool      // chats whose cards are being changed, by hands
	hands   sync.WaitGroup
}

func newScreen(cfg Config) *Screen {
	return &Screen{cfg: cfg, running: map[core.PromptID]*status{}, queue: make(chan news, progressQueue), edited: map[string]time.Time{}, busy: map[string]bool{}}
}

// newToken draws what a button carries: 128 random bits.
func newToken() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Render turns a letter into the messages for its place.
func (s *Screen) Render(ctx context.Context, l core.Letter) (delivery.Rendered, error) {
	adapter, ok := s.cfg.adapter(l.Place.Platform)
	if !ok {
		return delivery.Rendered{}, fmt.Errorf("no adapter for %s", l.Place.Platform)
	}
	caps := adapter.Capabilities()
	s.settled(l, caps)
	if caps.Lines {
		s.caughtUp(ctx)
	}
	switch l.Event.Type {
	case core.EventAnswer:
		p := page{head: s.head(l, caps, core.Done), text: l.Event.Text, answer: true}
		return delivery.Rendered{Messages: loud(s.reply(s.cfg.messages(p, caps, l.Place), l), l.Loud)}, nil
	case core.EventEnd:
		return s.end(ctx, l, caps)
	case core.EventApproval, core.EventReminder:
		return s.approval(ctx, l, caps)
	case core.EventQuestion:
		return s.question(l, caps), nil
	case core.EventConflict:
		return s.conflict(ctx, l, caps, l.Event.Time)
	case core.EventWork:
		return s.work(ctx, l, caps)
	case core.EventUncertain:
		p := page{text: s.head(l, caps, core.Running) + fmt.Sprintf(saysUncertain, code(l.Event.Show))}
		return delivery.Rendered{Messages: loud(s.cfg.messages(p, caps, l.Place), true)}, nil
	case core.EventNotice:
		p := page{text: s.head(l, caps, core.Running) + l.Event.Text}
		return delivery.Rendered{Messages: s.cfg.messages(p, caps, l.Place)}, nil
	}
	return delivery.Rendered{}, nil
}

// reply makes the first message answer the one that asked.
func (s *Screen) reply(ms []core.Message, l core.Letter) []core.Message {
	if len(ms) > 0 && l.Place.Thread == "" {
		ms[0].Reply = l.Reply
	}
	return ms
}

func loud(ms []core.Message, yes bool) []core.Message {
	if n := len(ms); n > 0 && yes {
		ms[n-1].Silent = false
	}
	return ms
}

// head says which session and prompt a message belongs to, where the place does not.
func (s *Screen) head(l core.Letter, caps core.Capabilities, st core.PromptState) string {
	prefix := fmt.Sprintf("[S:%s][P:%s][%s]", l.Event.Session, l.Event.Prompt, st.Word())
	switch {
	case caps.Lines:
		return prefix + " "
	case l.Place.Thread != "":
		return ""
	}
	return fmt.Sprintf("%s %s\n\n", prefix, escape(l.Event.Title))
}

// end closes the status card; a prompt that never had one, and went well, needs no more than its answer.
func (s *Screen) end(ctx context.Context, l core.Letter, caps core.Capabilities) (delivery.Rendered, error) {
	e := l.Event
	var b strings.Builder
	to := core.PromptState(e.State)
	b.WriteString(s.head(l, caps, to))
	switch to {
	case core.Done:
		b.WriteString(saysDone)
	case core.Cancelled:
		b.WriteString(escape(e.Error))
	default:
		fmt.Fprintf(&b, saysFailed, escape(e.Error))
	}
	fmt.Fprintf(&b, " · %s", e.Took.Round(100*time.Millisecond))
	if e.Tokens > 0 {
		fmt.Fprintf(&b, saysTokens, e.Tokens)
	}
	if len(e.Files) > 0 {
		fmt.Fprintf(&b, saysFiles, files(e.Files))
	}
	var bs buttons
	p := page{text: b.String()}
	if len(e.Files) > 0 && !caps.Lines {
		p.rows = append(p.rows, []core.Button{
			bs.add(labelDiff, "", press{Do: doCommand, Command: "diff " + string(e.Session), Session: l.SessionID}),
			bs.add(labelUndo, "", press{Do: doCommand, Command: "undo " + string(e.Prompt), Session: l.SessionID})})
	}
	if to != core.Done && !caps.Lines {
		p.rows = append(p.rows, []core.Button{bs.add(labelRetry, "", press{Do: doCommand, Command: "retry " + string(e.Prompt), Session: l.SessionID})})
	}
	ms := s.cfg.messages(p, caps, l.Place)
	if n := len(ms); n > 0 {
		ms[n-1].Card, ms[n-1].Replace = statusCard(l.PromptID), true
		ms[n-1].Silent = to != core.Failed && !caps.Lines
	}
	if n := len(ms); (to == core.Cancelled || len(e.Files) > 0 && !caps.Lines) && n > 0 { // no answer tells of it: without a card it is a message of its own
		docs, _, err := state.GetAll[delivery.Card](ctx, s.cfg.Store, []store.Key{state.CardKey(statusCard(l.PromptID)), state.CardKey(questionCard(l.PromptID))})
		if err != nil {
			return delivery.Rendered{}, err
		}
		ms[n-1].Replace = docs[0].Exists()
		if to == core.Cancelled && docs[1].Exists() { // nobody is asked any more
			gone := s.cfg.messages(page{head: s.head(l, caps, to), text: escape(e.Error)}, caps, l.Place)
			ms = append(replacing(gone, questionCard(l.PromptID)), ms...)
		}
	}
	out := delivery.Rendered{Messages: ms}
	if len(bs.presses) > 0 && caps.Buttons {
		out.Put = bs.put
	}
	return out, nil
}

func files(paths []string) string {
	const most = 5
	rest := ""
	if len(paths) > most {
		rest = fmt.Sprintf(saysMore, len(paths)-most)
		paths = paths[:most]
	}
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = code(p)
	}
	return strings.Join(quoted, ", ") + rest
}

// question asks a person something that is no approval.
func (s *Screen) question(l core.Letter, caps core.Capabilities) delivery.Rendered {
	var bs buttons
	var row []core.Button
	for _, choice := range l.Event.Choices {
		p := press{Do: doResume, Prompt: l.PromptID, Session: l.SessionID}
		switch choice {
		case core.ChoiceStop, core.ChoiceClose:
			p.Do = doCancel
		}
		row = append(row, bs.add(choice, "", p))
	}
	text := s.head(l, caps, core.Waiting) + escape(l.Event.Text)
	if !caps.Buttons {
		text += "\n" + fmt.Sprintf(saysAnswerTyped, caps.Slash, l.Event.Prompt, caps.Slash, l.Event.Prompt)
	}
	ms := s.cfg.messages(page{text: text, rows: [][]core.Button{row}}, caps, l.Place)
	if n := len(ms); n > 0 {
		ms[n-1].Card = questionCard(l.PromptID)
	}
	return delivery.Rendered{Messages: loud(s.reply(ms, l), true), Put: bs.put}
}

func questionCard(id core.PromptID) string { return "question/" + string(id) }
