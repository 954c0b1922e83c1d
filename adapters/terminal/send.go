package terminal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"paragents/core"
)

// Send prints a message. One with buttons becomes a question, asked when those before it are answered.
func (a *Adapter) Send(_ context.Context, m core.Message) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.number++
	a.withdraw(m.Card)
	text := m.Text
	if text == "" {
		text = m.Plain
	}
	if m.File != nil {
		text = strings.TrimSpace(string(m.File.Data) + "\n" + text)
	}
	if err := a.print(text + "\n"); err != nil {
		return "", err
	}
	if len(m.Rows) > 0 && a.tty != nil {
		q := question{card: m.Card, keys: map[string]string{}}
		var labels []string
		for _, row := range m.Rows {
			for _, b := range row {
				labels = append(labels, b.Label)
				q.keys[b.Key] = b.Token
			}
		}
		q.text = strings.Join(labels, "  ")
		a.questions = append(a.questions, q)
	}
	return fmt.Sprint(a.number), a.ask()
}

// Edit prints the message again: a line that was printed stays.
func (a *Adapter) Edit(ctx context.Context, _ string, m core.Message) error {
	_, err := a.Send(ctx, m)
	return err
}

// ways names the keys that answer a question.
func (q question) ways() string {
	return strings.Join(slices.Sorted(maps.Keys(q.keys)), " or ")
}

// withdraw takes back the question of a card that is decided or shown anew.
func (a *Adapter) withdraw(card string) {
	for i, q := range a.questions {
		if card != "" && q.card == card {
			a.questions = append(a.questions[:i:i], a.questions[i+1:]...)
			return
		}
	}
}

// ask shows the first question, below whatever was printed last. What was typed until now is thrown away: it was not typed in answer to it.
func (a *Adapter) ask() error {
	if len(a.questions) == 0 {
		return nil
	}
	if err := dropTyped(a.tty); err != nil {
		return fmt.Errorf("ask on the terminal: %w", err)
	}
	err := a.print(a.questions[0].text + " > ")
	a.behind = true
	return err
}

// print shows text on a line of its own.
func (a *Adapter) print(text string) error {
	if a.behind {
		text = "\n" + text
		a.behind = false
	}
	if _, err := fmt.Fprint(a.cfg.Out, text); err != nil {
		return &core.SendError{Fault: core.FaultGone, Err: err}
	}
	return nil
}
