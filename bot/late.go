package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"paragents/bot/button"
	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/store"
)

// tooOld is the age from which a message is asked about instead of run.
const tooOld = 15 * time.Minute

// late reports whether an event is so old that its author may mean it no more. The platform's time counts, and the store's.
func late(e core.Inbound, now time.Time) bool { return !e.At.IsZero() && now.Sub(e.At) > tooOld }

// begins are the commands that set work going. The others take effect however late they come.
var begins = []string{"new", "submit", "prompt", "steer", "retry", "approve", "resume"}

// inTime carries out a command, or asks about one that came late and would set work going.
func (d *Desk) inTime(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if slices.Contains(begins, c.Name) && v.Role >= access.Operator && late(v.Inbound, d.s.Now()) {
		return d.askLate(ctx, v, v.Text)
	}
	return d.command(ctx, v, c)
}

// askLate asks whether a late message, or with command a late command, is to be run after all.
func (d *Desk) askLate(ctx context.Context, v *visit.Visit, command string) error {
	p := button.Press{Session: v.Replied, Event: v.ID, Text: v.Request(), Message: v.Message, Files: v.Files, Entered: v.Entered(), Command: command, For: v.Person}
	if p.Session == "" {
		p.Session = v.Bound
	}
	run, drop := p, button.Press{Do: button.DoDropLate, Event: v.ID, For: v.Person}
	run.Do = button.DoRunLate
	var bs button.Set
	pg := page.Page{Text: fmt.Sprintf(phrase.TooOld, phrase.Old(d.s.Now().Sub(v.At))), Open: true} // who wrote it may be away by now
	pg.Rows = [][]core.Button{{bs.Add(phrase.LabelRun, "", run), bs.Add(phrase.LabelDrop, "", drop)}}
	if !v.Caps.Buttons {
		v.Say("%s", pg.Text+phrase.SendAgain)
		return nil
	}
	if err := bs.Store(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.Out = append(v.Out, pg)
	return nil
}

// answerLate runs or drops a late message, whichever is pressed first.
func (d *Desk) answerLate(ctx context.Context, v *visit.Visit, p button.Press) (string, error) {
	if err := v.Need(access.Operator); err != nil {
		return "", err
	}
	event := p.Event + "/late"
	if p.Do == button.DoRunLate && p.Command == "" {
		sub := scheduler.Submission{Event: event, Author: v.Person, Place: v.Place, Text: p.Text, Message: p.Message, Attachments: p.Files, Entered: p.Entered, Session: p.Session}
		if p.Session == "" {
			sub.New = &scheduler.NewSession{Workspace: d.cfg.WorkspaceAt(v.Place), Bind: true, Join: true}
		}
		out, err := d.s.Accept(ctx, []scheduler.Submission{sub}, nil)
		if err != nil {
			return "", err
		}
		if out[0].Duplicate {
			return phrase.Gone, nil
		}
		v.Message = p.Message
		d.accepted(ctx, v, out[0])
		return phrase.LateRun, nil
	}
	var b state.Batch
	b.Expect(state.EventKey(event), 0)
	b.Put(state.EventKey(event), state.Seen{}, state.EventKept)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		if errors.Is(err, store.ErrConflict) {
			return phrase.Gone, nil
		}
		return "", err
	}
	if p.Do == button.DoDropLate {
		return phrase.LateDrop, nil
	}
	c, ok := grammar.Parse(p.Command)
	if !ok {
		return phrase.Gone, nil
	}
	return phrase.LateRun, d.command(ctx, v, c)
}

// settled puts a sentence in place of a message whose buttons were pressed, best effort.
func (d *Desk) settled(ctx context.Context, v *visit.Visit, message, text string) {
	if message == "" || !v.Caps.Edits {
		return
	}
	d.replies.Change(ctx, v.Adapter, v.Place, message, page.Messages(page.Page{Text: text}, v.Caps, v.Place))
}

// worthAsking reports whether a late message would be a prompt.
func worthAsking(v *visit.Visit) bool {
	return strings.TrimSpace(v.Text) != "" || len(v.Files) > 0 && v.Group == ""
}
