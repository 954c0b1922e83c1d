package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"paragents/bot/markup"
	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/state"
	"paragents/store"
)

// approval is the card of the approvals of one answer, or what was decided about one of them.
func (s *Screen) approval(ctx context.Context, l core.Letter, caps core.Capabilities) (delivery.Rendered, error) {
	keys := make([]store.Key, len(l.Event.Approvals))
	for i, id := range l.Event.Approvals {
		keys[i] = state.ApprovalKey(id)
	}
	docs, now, err := state.GetAll[core.Approval](ctx, s.cfg.Store, keys)
	if err != nil {
		return delivery.Rendered{}, err
	}
	var out delivery.Rendered
	var bs buttons
	if len(docs) > 0 && len(docs[0].Value.Group) > 1 && !caps.Lines && l.Event.Type == core.EventApproval {
		if len(docs) != len(docs[0].Value.Group) {
			keys = keys[:0]
			for _, id := range docs[0].Value.Group {
				keys = append(keys, state.ApprovalKey(id))
			}
			if docs, _, err = state.GetAll[core.Approval](ctx, s.cfg.Store, keys); err != nil {
				return delivery.Rendered{}, err
			}
		}
		list := make([]core.Approval, len(docs))
		for i, d := range docs {
			list[i] = d.Value
		}
		out.Messages = s.group(l, caps, list, &bs)
		docs = nil
	}
	for _, d := range docs {
		if !d.Exists() {
			continue
		}
		out.Messages = append(out.Messages, s.card(l, caps, d.Value, now, &bs)...)
	}
	if len(bs.presses) > 0 && caps.Buttons {
		out.Put = bs.put
	}
	return out, nil
}

// card shows one approval: the whole action first, then what it touches and why it is asked, then the buttons. A decided one shows who, what and when, and
// has no buttons.
func (s *Screen) card(l core.Letter, caps core.Capabilities, a core.Approval, now time.Time, bs *buttons) []core.Message {
	decided := l.Event.State != string(core.Pending) && l.Event.Type != core.EventReminder
	var b strings.Builder
	word := core.Waiting
	if decided {
		word = core.Running
	}
	head := s.head(l, caps, word)
	b.WriteString(head)
	if decided {
		outcome := fmt.Sprintf(saysDecided, a.Ref, decidedWord(a), person(a.By), a.Decided.UTC().Format("15:04:05"))
		b.WriteString(outcome)
		if a.Reason != "" {
			fmt.Fprintf(&b, " (%s)", escape(a.Reason))
		}
		b.WriteString("\n" + fence(markup.Visible(a.Action.Show)))
		if a.State == core.Approved {
			fmt.Fprintf(&b, saysReceipt, a.Digest[:12], a.Trace)
		}
		ms := s.cfg.messages(page{text: b.String()}, caps, l.Place)
		if n := len(ms); n > 0 {
			ms[n-1].Card, ms[n-1].Replace = "approval/"+string(a.ID), true
		}
		if caps.Lines { // a line cannot be replaced, and the decision was typed here: one short line
			ms = s.cfg.messages(page{text: head + outcome}, caps, l.Place)
		}
		return ms
	}
	if l.Event.Type == core.EventReminder {
		fmt.Fprintf(&b, saysStillWaits, now.Sub(a.Created).Round(time.Minute))
	}
	number := ""
	if a.Of > 1 {
		number = fmt.Sprintf(" %d of %d", a.Number, a.Of)
	}
	fmt.Fprintf(&b, saysAsks, a.Ref, number, escape(a.Action.Tool))
	b.WriteString("\n" + fence(markup.Visible(a.Action.Show)))
	fmt.Fprintf(&b, saysIn, code(a.Action.Dir))
	fmt.Fprintf(&b, saysBecause, escape(a.Rule))
	if len(a.Writes) > 0 {
		fmt.Fprintf(&b, saysWrites, files(a.Writes))
	}
	if len(a.Hosts) > 0 {
		fmt.Fprintf(&b, saysReaches, files(a.Hosts))
	}
	if !caps.Buttons {
		fmt.Fprintf(&b, saysDecideTyped, caps.Slash, a.Ref, caps.Slash, a.Ref)
	}
	ref := press{Approval: a.ID, Session: a.Session, Prompt: a.Prompt}
	approve := ref
	if approve.Do = doApprove; a.Confirm != "" {
		approve.Do = doConfirm
	}
	rows := [][]core.Button{{bs.add(labelApprove, "primary", approve)}}
	if len(a.Offers) > 0 && a.Confirm == "" {
		inSession, always := ref, ref
		inSession.Do, inSession.Scope = doScope, core.ForSession
		always.Do, always.Scope = doScope, core.Always
		rows = append(rows, []core.Button{bs.add(labelSession, "", inSession), bs.add(labelAlways, "", always)})
	}
	deny := ref
	deny.Do = doDeny
	rows = append(rows, []core.Button{bs.add(labelDeny, "danger", deny)})
	ms := s.cfg.messages(page{text: b.String(), rows: rows}, caps, l.Place)
	if n := len(ms); n > 0 {
		ms[n-1].Card = "approval/" + string(a.ID)
	}
	return loud(ms, true)
}

func decidedWord(a core.Approval) string {
	if a.State == core.Approved && a.Scope != "" && a.Scope != core.Once {
		return string(a.State) + " for this " + map[core.Scope]string{core.ForSession: "session", core.Always: "workspace"}[a.Scope]
	}
	return string(a.State)
}
