package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/agent/transcript"
	"paragents/core/llm"
)

// What of the messages that stand in front of a session the model is given.
const (
	maxSaid     = 50       // messages, the newest
	maxSaidText = 2000     // characters of one
	maxAbout    = 12_000   // characters of a message that a session was opened about
	maxSaidAll  = 32 << 10 // bytes of all, as they are written
	maxNamed    = 5        // authors that people are told of
	maxAuthor   = 64       // characters of an author's name
	historyTime = 20 * time.Second
)

// said is one message as the model reads it: one JSON object, so that nothing in a text can pretend to be another message.
type said struct {
	By    string   `json:"by"`
	ID    string   `json:"id,omitempty"`
	Bot   bool     `json:"bot,omitempty"`
	At    string   `json:"at"`
	Text  string   `json:"text,omitempty"`
	Files []string `json:"files,omitempty"`
}

// recall reads what stands in the thread in front of the message that began the session, once: with its first prompt. entered says for people what that is.
func (t *turns) recall(ctx context.Context) (text string, entered []string) {
	p := t.run.Prompt
	if t.a.cfg.History == nil || p.Message == "" || p.Place.Thread == "" || !t.log.Begins(p.ID) {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, historyTime)
	defer cancel()
	list, more, err := t.a.cfg.History(ctx, p.Place, p.Message, maxSaid)
	switch {
	case err != nil:
		return fmt.Sprintf(tellsNoThread, err), nil
	case len(list) == 0:
		return "", nil
	}
	lines, left := transcribe(list, maxSaidText)
	b := strings.Builder{}
	fmt.Fprintf(&b, tellsThread, len(lines))
	if more || left > 0 {
		b.WriteString(tellsThreadMore)
	}
	b.WriteString("\n" + llm.Frame(transcript.Mark(p.ID, "history"), strings.Join(lines, "\n")) + "\n")
	return b.String(), []string{fmt.Sprintf(saysThread, len(lines), authors(list[left:]))}
}

// about is the message that the session was opened about, for its first prompt, with its attachments.
func (t *turns) about() (string, []core.Attachment) {
	m := t.run.Session.About
	if m == nil || !t.log.Begins(t.run.Prompt.ID) {
		return "", nil
	}
	lines, _ := transcribe([]core.Inbound{*m}, maxAbout)
	return tellsAbout + "\n" + llm.Frame(transcript.Mark(t.run.Prompt.ID, "about"), strings.Join(lines, "\n")) + "\n", slices.Clone(m.Files)
}

// authors names who wrote messages, some of them.
func authors(list []core.Inbound) string {
	by := map[string]bool{}
	for _, m := range list {
		name := []rune(strings.Join(strings.Fields(m.Name), " "))
		by[string(name[:min(len(name), maxAuthor)])] = true
	}
	names := slices.Sorted(maps.Keys(by))
	if n := len(names) - maxNamed; n > 0 {
		names = append(names[:maxNamed], fmt.Sprintf(saysOthers, n))
	}
	return strings.Join(names, ", ")
}

// transcribe writes messages down, one a line, each with at most so many characters. What does not fit is left out from the front; left says how many that are.
func transcribe(list []core.Inbound, most int) (lines []string, left int) {
	size := 0
	for i, m := range slices.Backward(list) {
		s := said{By: m.Name, ID: string(m.Person), Bot: m.Bot, At: m.At.UTC().Format(time.DateTime), Text: m.Text}
		if r := []rune(m.Text); len(r) > most {
			s.Text = string(r[:most]) + "…"
		}
		for _, f := range m.Files {
			s.Files = append(s.Files, f.Name)
		}
		raw, err := json.Marshal(s)
		if err != nil { // texts always marshal
			continue
		}
		if size += len(raw); size > maxSaidAll && len(lines) > 0 {
			left = i + 1
			break
		}
		lines = append(lines, string(raw))
	}
	slices.Reverse(lines)
	return lines, left
}
