package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/delivery"
	"paragents/core/state"
)

// conflict is the card of a prompt that would write what others hold, what was decided about it, or what an owner is told.
func (s *Screen) conflict(ctx context.Context, l core.Letter, caps core.Capabilities, now time.Time) (delivery.Rendered, error) {
	c := l.Event.Conflict
	if c == nil {
		return delivery.Rendered{}, nil
	}
	var offered func(*state.Batch)
	var b strings.Builder
	var bs buttons
	var rows [][]core.Button
	st := core.ConflictState(l.Event.State)
	card, word := "conflict/"+string(l.PromptID), core.Blocked
	if st.Settled() {
		word = core.Queued
	}
	if st == core.ConflictCancelled {
		word = core.Cancelled
	}
	switch st {
	case core.ConflictTheirs, core.ConflictCycle, core.ConflictFound:
		card = ""
	}
	b.WriteString(s.head(l, caps, word))
	switch st {
	case core.ConflictOpen, core.ConflictWaits:
		b.WriteString(saysConflict)
		for _, o := range c.Owners {
			fmt.Fprintf(&b, "- %s: %s\n", files(o.Paths), owner(o, now))
		}
		ref := string(l.Event.Prompt)
		if len(c.Cycle) > 0 {
			fmt.Fprintf(&b, saysCycle, sessions(c.Cycle))
		}
		order := func(label, style, command string) core.Button {
			return bs.add(label, style, press{Do: doCommand, Command: command + " " + ref, Session: l.SessionID, Prompt: l.PromptID})
		}
		row := []core.Button{order(labelOverride, "", "override")}
		if st == core.ConflictWaits {
			b.WriteString(saysWaits)
		} else {
			b.WriteString(saysChoose)
			row = append([]core.Button{order(labelWait, "primary", "wait")}, row...)
		}
		rows = [][]core.Button{row}
		if asks(c.Owners) {
			rows = append(rows, []core.Button{order(labelWithdraw, "", "withdraw")})
		}
		if st == core.ConflictOpen {
			var err error
			if offered, err = s.offersApart(ctx, l); err != nil {
				return delivery.Rendered{}, err
			}
			if offered != nil {
				fmt.Fprintf(&b, saysApart, caps.Slash, ref)
				rows = append(rows, []core.Button{order(labelApart, "", "isolate")})
			}
		}
		rows = append(rows, []core.Button{order(labelCancel, "danger", "cancel")})
		if !caps.Buttons {
			fmt.Fprintf(&b, "\n"+saysConflictTyped, caps.Slash, ref, caps.Slash, ref, caps.Slash, ref)
		}
	case core.ConflictFree:
		fmt.Fprintf(&b, saysFree, files(c.Paths))
	case core.ConflictOverridden:
		fmt.Fprintf(&b, saysOverridden, files(c.Paths), owners(c.Owners), person(l.Event.By))
	case core.ConflictCancelled:
		fmt.Fprintf(&b, saysConflictOver, files(c.Paths), owners(c.Owners))
	case core.ConflictTheirs:
		if l.Event.By == "" {
			fmt.Fprintf(&b, saysTheirsRule, owners(c.Owners), files(c.Paths))
			break
		}
		fmt.Fprintf(&b, saysTheirs, person(l.Event.By), owners(c.Owners), files(c.Paths))
	case core.ConflictCycle:
		fmt.Fprintf(&b, saysInCycle, sessions(c.Cycle), files(c.Paths))
	case core.ConflictFound:
		fmt.Fprintf(&b, saysFound, files(c.Paths), owners(c.Owners))
	}
	ms := s.cfg.messages(page{text: b.String(), rows: rows}, caps, l.Place)
	if n := len(ms); n > 0 && card != "" {
		ms[n-1].Card, ms[n-1].Replace = card, st != core.ConflictOpen
	}
	out := delivery.Rendered{Messages: loud(ms, l.Loud)}
	out.Put = func(b *state.Batch) {
		if caps.Buttons {
			bs.put(b)
		}
		if offered != nil {
			offered(b)
		}
	}
	return out, nil
}

// asks reports whether one of the owners waits for an approval.
func asks(owners []core.Rival) bool {
	return slices.ContainsFunc(owners, func(o core.Rival) bool { return o.State == core.Waiting && o.Asks })
}

// owner says who holds something, what it does and since when.
func owner(o core.Rival, now time.Time) string {
	text := fmt.Sprintf(saysHolds, code(string(o.Session)), escape(o.Title), o.State.Word())
	if o.Reason != "" {
		text += " (" + escape(cutRunes(o.Reason, 80)) + ")"
	}
	if !o.Since.IsZero() {
		text += ", " + ago(now.Sub(o.Since))
	}
	return text
}

func owners(list []core.Rival) string {
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = code(string(o.Session)) + " " + escape(o.Title)
	}
	return strings.Join(names, ", ")
}

func sessions(refs []core.Ref) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = code(string(r))
	}
	return strings.Join(names, ", ")
}

// settle is the command wait or override: what a person chooses about a conflict.
func (d *Desk) settle(ctx context.Context, v *visit, c Command) error {
	x, err := d.theirs(ctx, v, c)
	if err != nil {
		return err
	}
	if x.prompt == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNothing, c.Name))
	}
	if c.Name == "wait" {
		con, err := d.s.Wait(ctx, x.prompt, v.Person)
		if err == nil && !v.caps.Buttons {
			v.say(saysWaiting, files(con.Paths), owners(con.Owners))
		}
		return err
	}
	con, err := d.s.Override(ctx, x.prompt, v.Person, func(o core.Rival) error {
		if o.Author == v.Person || v.role >= access.Approver {
			return nil
		}
		return fmt.Errorf("%w: %s", core.ErrForbidden, fmt.Sprintf(saysNotOver, o.Session, o.Title, strings.Join(o.Paths, ", "), o.Author))
	})
	if err == nil {
		v.say(saysOverride, files(con.Paths), owners(con.Owners))
	}
	return err
}
