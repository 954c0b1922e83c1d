package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"paragents/core"
	"paragents/core/scheduler"
)

// What of an attachment the model is given: text, as quoted data, up to a size. Everything else is named, so that it can say that it did not see it.
const (
	maxFile  = 20 << 20  // bytes that are fetched at all
	maxQuote = 256 << 10 // bytes of text that enter the conversation, of one prompt
)

// gather gets what belongs to a prompt and does not stand in it: the earlier messages of its thread, and its attachments. It is got once, and written into the
// transcript. A prompt that consists of nothing but attachments that cannot be had ends with the reason.
func (t *turns) gather(ctx context.Context) (scheduler.Outcome, error) {
	p := t.run.Prompt
	if t.log.Noted(p.ID) {
		return scheduler.Outcome{}, nil
	}
	note := core.Record{Kind: core.RecordNote, Prompt: p.ID}
	about, attachments := t.about()
	attachments = append(attachments, p.Attachments...)
	note.Text, note.Entered = t.recall(ctx)
	if about != "" {
		note.Text, note.Entered = about+note.Text, append(note.Entered, saysAbout)
	}
	if ctx.Err() != nil {
		return scheduler.Outcome{}, context.Cause(ctx)
	}
	var b strings.Builder
	var problems []string
	left := maxQuote
	for _, a := range attachments {
		if err := t.run.Boundary(ctx); err != nil {
			return scheduler.Outcome{}, err
		}
		name := filepath.Base(strings.ReplaceAll(a.Name, "\\", "/"))
		text, err := t.fetch(ctx, a, left)
		if err != nil {
			if ctx.Err() != nil {
				return scheduler.Outcome{}, context.Cause(ctx)
			}
			problems = append(problems, fmt.Sprintf("%s: %v", name, err))
			fmt.Fprintf(&b, tellsNoFile, name, err)
			continue
		}
		left -= len(text)
		b.WriteString(quote(name, text))
		note.Entered = append(note.Entered, fmt.Sprintf(saysFile, name))
	}
	if len(p.Attachments) > 0 && len(problems) == len(attachments) && strings.TrimSpace(p.Text) == "" {
		return scheduler.Outcome{State: core.Failed, Error: strings.Join(problems, "; ")}, nil
	}
	if note.Text += b.String(); note.Text == "" {
		return scheduler.Outcome{}, nil
	}
	note.Time = t.run.Now()
	if err := t.run.Append(ctx, []core.Record{note}); err != nil {
		return scheduler.Outcome{}, err
	}
	t.log.Add(note)
	return scheduler.Outcome{}, nil
}

// fetch reads an attachment as text. The error says why it is not given to the model.
func (t *turns) fetch(ctx context.Context, a core.Attachment, left int) (string, error) {
	if a.Size > maxFile {
		return "", fmt.Errorf("it is larger than %d MB", maxFile>>20)
	}
	if t.a.cfg.Fetch == nil {
		return "", errors.New("files cannot be read here")
	}
	r, err := t.a.cfg.Fetch(ctx, t.run.Prompt.Place, a)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("it could not be read: %w", err)
	case len(data) > maxFile:
		return "", fmt.Errorf("it is larger than %d MB", maxFile>>20)
	case len(data) == 0:
		return "", errors.New("it is empty")
	}
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if kind == "text/html" && a.Type != "" && !strings.Contains(a.Type, "html") {
		return "", fmt.Errorf("the platform gave a web page instead of %s; the bot may lack a right to read files", a.Type)
	}
	if !strings.HasPrefix(kind, "text/") || !utf8.Valid(data) {
		return "", fmt.Errorf("it is no text (%s), and only text can be read", kind)
	}
	if len(data) > left {
		return "", fmt.Errorf("it has %d bytes, and %d are left of what fits into a prompt", len(data), left)
	}
	return string(data), nil
}

// quote frames a file so that nothing in it can end the frame.
func quote(name, text string) string {
	mark := "-----"
	for strings.Contains(text, mark) {
		mark += "-"
	}
	return fmt.Sprintf(tellsFile, name, mark, text, mark)
}
