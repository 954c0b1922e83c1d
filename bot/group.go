package bot

import (
	"bytes"
	"fmt"
	"strings"

	"paragents/bot/markup"
	"paragents/core"
)

// perRow is how many buttons stand in one row at most.
const perRow = 5

// group is the one card of several approvals of one answer: numbered, each whole, with a button for all that are shown and buttons for each. It is changed as they are
// decided.
func (c *cards) group(list []core.Approval) []core.Message {
	var open []core.Approval
	confirm := false
	for _, a := range list {
		if a.State == core.Pending {
			open = append(open, a)
			confirm = confirm || a.Confirm != ""
		}
	}
	word, reminded := core.Waiting, ""
	switch {
	case len(open) == 0:
		word = c.word
	case c.l.Event.Type == core.EventReminder && open[0].ID != c.l.Event.Approvals[0]:
		return nil // the first that is open reminds of all
	default:
		reminded = c.reminder(open[0])
	}
	if c.later(list) {
		return nil
	}
	head := c.s.head(c.l, c.caps, word) + reminded + c.whose(list[0])
	p := page{text: c.all(list, head, false), rows: groupRows(list, open, confirm, &c.buttons)}
	if c.caps.Files && len(c.s.cfg.pieces(p.text, c.caps)) > maxPieces {
		p.file = &core.File{Name: "actions.txt", Data: whole(list)}
		p.text = c.all(list, head, true)
	}
	name := c.name("approvals/" + string(list[0].ID))
	ms := c.s.cfg.messages(p, c.caps, c.l.Place)
	if len(open) < len(list) && reminded == "" {
		ms = replacing(ms, name)
		for _, a := range list {
			if a.State != core.Pending && a.Confirm != "" {
				ms = append(ms, c.second(a)...)
			}
		}
		return ms
	}
	if n := len(ms); n > 0 {
		ms[n-1].Card = name
	}
	return append(c.again(name, c.s.head(c.l, c.caps, core.Waiting)+code(string(open[0].Ref))), loud(ms, true)...)
}

// all is the text of the card: each action whole, or with short the beginning of each and the digest by which it is known in the file.
func (c *cards) all(list []core.Approval, head string, short bool) string {
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, saysAskAll, len(list))
	if came := unchecked(list[0]); came != "" { // with the one request of them all
		b.WriteString("\n" + came)
	}
	for _, a := range list {
		fmt.Fprintf(&b, "\n\n**%d.** %s · %s", a.Number, code(string(a.Ref)), escape(a.Action.Tool))
		if a.State != core.Pending {
			fmt.Fprintf(&b, " · %s%s at %s", decidedWord(a), c.by(a), a.Decided.UTC().Format("15:04:05"))
		}
		show := markup.Visible(a.Action.Show)
		if short && len(show) > shownAfter {
			b.WriteString("\n" + fence(cutRunes(show, shownAfter)))
			fmt.Fprintf(&b, saysWhole, len(show), a.Digest[:12])
		} else {
			b.WriteString("\n" + fence(show))
		}
		fmt.Fprintf(&b, saysBecause, escape(a.Rule))
		if a.State == core.Pending && !c.caps.Buttons {
			fmt.Fprintf(&b, saysDecideTyped, c.caps.Slash, a.Ref, c.caps.Slash, a.Ref)
		}
	}
	return b.String()
}

// whole is every action as it would run, for the file of a card that cannot show them all.
func whole(list []core.Approval) []byte {
	var b bytes.Buffer
	for _, a := range list {
		fmt.Fprintf(&b, "%d. %s · %s · digest %s\n%s\n\n", a.Number, a.Ref, a.Action.Tool, a.Digest[:12], markup.Visible(a.Action.Show))
	}
	return b.Bytes()
}

// groupRows are the buttons for what is still open. What needs a second press is approved by its own button only.
func groupRows(list, open []core.Approval, confirm bool, bs *buttons) [][]core.Button {
	if len(open) == 0 {
		return nil
	}
	ids := make([]core.ApprovalID, len(open))
	for i, a := range open {
		ids[i] = a.ID
	}
	var rows [][]core.Button
	each := func(label, style string, do verb) {
		var row []core.Button
		for _, a := range open {
			p := press{Do: do, Approval: a.ID, Session: a.Session, Prompt: a.Prompt}
			if do == doApprove && a.Confirm != "" {
				p.Do = doConfirm
			}
			if row = append(row, bs.add(fmt.Sprintf(label, a.Number), style, p)); len(row) == perRow {
				rows, row = append(rows, row), nil
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	all := press{Approvals: ids, Session: list[0].Session, Prompt: list[0].Prompt}
	if len(open) == len(list) && !confirm {
		yes := all
		yes.Do = doApprove
		rows = append(rows, []core.Button{bs.add(fmt.Sprintf(labelApproveAll, len(open)), "primary", yes)})
	}
	each(labelApproveN, "", doApprove)
	each(labelDenyN, "danger", doDeny)
	no := all
	no.Do = doDeny
	return append(rows, []core.Button{bs.add(labelDenyAll, "danger", no)})
}
