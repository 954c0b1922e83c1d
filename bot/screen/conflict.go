package screen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"paragents/bot/button"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/core"
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
	var bs button.Set
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
	b.WriteString(page.Head(l, caps, word))
	switch st {
	case core.ConflictOpen, core.ConflictWaits:
		b.WriteString(phrase.Conflict)
		for _, o := range c.Owners {
			fmt.Fprintf(&b, "- %s: %s\n", phrase.Files(o.Paths), owner(o, now))
		}
		ref := string(l.Event.Prompt)
		if len(c.Cycle) > 0 {
			fmt.Fprintf(&b, phrase.Cycle, phrase.Sessions(c.Cycle))
		}
		order := func(label, style, command string) core.Button {
			return bs.Add(label, style, button.Press{Do: button.DoCommand, Command: command + " " + ref, Session: l.SessionID, Prompt: l.PromptID})
		}
		row := []core.Button{order(phrase.LabelOverride, "", "override")}
		if st == core.ConflictWaits {
			b.WriteString(phrase.Waits)
		} else {
			b.WriteString(phrase.Choose)
			row = append([]core.Button{order(phrase.LabelWait, "primary", "wait")}, row...)
		}
		rows = [][]core.Button{row}
		if asks(c.Owners) {
			rows = append(rows, []core.Button{order(phrase.LabelWithdraw, "", "withdraw")})
		}
		if st == core.ConflictOpen {
			var err error
			if offered, err = s.offersApart(ctx, l); err != nil {
				return delivery.Rendered{}, err
			}
			if offered != nil {
				fmt.Fprintf(&b, phrase.Apart, caps.Slash, ref)
				rows = append(rows, []core.Button{order(phrase.LabelApart, "", "isolate")})
			}
		}
		rows = append(rows, []core.Button{order(phrase.LabelCancel, "danger", "cancel")})
		if !caps.Buttons {
			fmt.Fprintf(&b, "\n"+phrase.ConflictTyped, caps.Slash, ref, caps.Slash, ref, caps.Slash, ref)
		}
	case core.ConflictFree:
		fmt.Fprintf(&b, phrase.Free, phrase.Files(c.Paths))
	case core.ConflictOverridden:
		fmt.Fprintf(&b, phrase.Overridden, phrase.Files(c.Paths), phrase.Owners(c.Owners), phrase.Person(l.Event.By))
	case core.ConflictCancelled:
		fmt.Fprintf(&b, phrase.ConflictOver, phrase.Files(c.Paths), phrase.Owners(c.Owners))
	case core.ConflictTheirs:
		if l.Event.By == "" {
			fmt.Fprintf(&b, phrase.TheirsRule, phrase.Owners(c.Owners), phrase.Files(c.Paths))
			break
		}
		fmt.Fprintf(&b, phrase.Theirs, phrase.Person(l.Event.By), phrase.Owners(c.Owners), phrase.Files(c.Paths))
	case core.ConflictCycle:
		fmt.Fprintf(&b, phrase.InCycle, phrase.Sessions(c.Cycle), phrase.Files(c.Paths))
	case core.ConflictFound:
		fmt.Fprintf(&b, phrase.Found, phrase.Files(c.Paths), phrase.Owners(c.Owners))
	}
	ms := page.Messages(page.Page{Text: b.String(), Rows: rows}, caps, l.Place)
	if n := len(ms); n > 0 && card != "" {
		ms[n-1].Card, ms[n-1].Replace = card, st != core.ConflictOpen
	}
	out := delivery.Rendered{Messages: page.Loud(ms, l.Loud)}
	out.Put = func(b *state.Batch) {
		if caps.Buttons {
			bs.Put(b)
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

// offersApart says whether the conflict of a letter is a repository's first, so that a session with a worktree of its own is offered: then it returns what remembers that.
func (s *Screen) offersApart(ctx context.Context, l core.Letter) (func(*state.Batch), error) {
	if s.cfg.Git == nil || s.s == nil {
		return nil, nil
	}
	_, sess, err := s.s.Prompt(ctx, l.PromptID)
	if err != nil || sess.Worktree != nil {
		return nil, ignored(err, core.ErrNotFound)
	}
	key := state.OfferedKey(sess.Workspace)
	before, _, err := state.Get[offered](ctx, s.cfg.Store, key)
	if err != nil || before.Exists() && before.Value.Prompt != l.PromptID {
		return nil, err
	}
	dir, err := s.cfg.Dir(sess.Workspace)
	if err == nil {
		_, err = s.cfg.Git.Begin(ctx, dir)
	}
	if err != nil {
		return nil, ignored(err, core.ErrNotFound, core.ErrRefused) // not here, or no repository
	}
	return func(b *state.Batch) { b.Put(key, offered{Prompt: l.PromptID}, 0) }, nil
}

// offered is the conflict in whose card a workspace's people were told of isolated sessions.
type offered struct {
	Prompt core.PromptID `json:"prompt"`
}

// ignored is an error, unless it is one of those that mean nothing here.
func ignored(err error, harmless ...error) error {
	for _, h := range harmless {
		if errors.Is(err, h) {
			return nil
		}
	}
	return err
}

// owner says who holds something, what it does and since when.
func owner(o core.Rival, now time.Time) string {
	text := fmt.Sprintf(phrase.Holds, phrase.Code(string(o.Session)), phrase.Escape(o.Title), o.State.Word())
	if o.Reason != "" {
		text += " (" + phrase.Escape(phrase.Cut(o.Reason, 80)) + ")"
	}
	if !o.Since.IsZero() {
		text += ", " + phrase.Ago(now.Sub(o.Since))
	}
	return text
}
