package approval

import (
	"bytes"
	"fmt"
	"strings"

	"paragents/bot/button"
	"paragents/bot/markup"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/core"
)

// perRow is how many buttons stand in one row at most.
const perRow = 5

// Group is the one card of several approvals of one answer: numbered, each whole, with a button for all that are shown and buttons for each. It is changed as they are
// decided.
func (c *Cards) Group(list []core.Approval) []core.Message {
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
		word = c.Word
	case c.Letter.Event.Type == core.EventReminder && open[0].ID != c.Letter.Event.Approvals[0]:
		return nil // the first that is open reminds of all
	default:
		reminded = c.reminder(open[0])
	}
	if c.later(list) {
		return nil
	}
	head := page.Head(c.Letter, c.Caps, word) + reminded + c.whose(list[0])
	p := page.Page{Text: c.all(list, head, false), Rows: groupRows(list, open, confirm, &c.Buttons)}
	if c.Caps.Files && page.TooLong(p.Text, c.Caps) {
		p.File = &core.File{Name: "actions.txt", Data: whole(list)}
		p.Text = c.all(list, head, true)
	}
	name := c.name("approvals/" + string(list[0].ID))
	ms := page.Messages(p, c.Caps, c.Letter.Place)
	if len(open) < len(list) && reminded == "" {
		ms = page.Replacing(ms, name)
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
	return append(c.again(name, page.Head(c.Letter, c.Caps, core.Waiting)+phrase.Code(string(open[0].Ref))), page.Loud(ms, true)...)
}

// all is the text of the card: each action whole, or with short the beginning of each and the digest by which it is known in the file.
func (c *Cards) all(list []core.Approval, head string, short bool) string {
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, phrase.AskAll, len(list))
	if came := unchecked(list[0]); came != "" { // with the one request of them all
		b.WriteString("\n" + came)
	}
	for _, a := range list {
		fmt.Fprintf(&b, "\n\n**%d.** %s · %s", a.Number, phrase.Code(string(a.Ref)), phrase.Escape(a.Action.Tool))
		if a.State != core.Pending {
			fmt.Fprintf(&b, " · %s%s at %s", decidedWord(a), c.by(a), a.Decided.UTC().Format("15:04:05"))
		}
		show := markup.Visible(a.Action.Show)
		if short && len(show) > shownAfter {
			b.WriteString("\n" + phrase.Fence(phrase.Cut(show, shownAfter)))
			fmt.Fprintf(&b, phrase.Whole, len(show), a.Digest[:12])
		} else {
			b.WriteString("\n" + phrase.Fence(show))
		}
		fmt.Fprintf(&b, phrase.Because, phrase.Escape(a.Rule))
		if a.State == core.Pending && !c.Caps.Buttons {
			fmt.Fprintf(&b, phrase.DecideTyped, c.Caps.Slash, a.Ref, c.Caps.Slash, a.Ref)
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
func groupRows(list, open []core.Approval, confirm bool, bs *button.Set) [][]core.Button {
	if len(open) == 0 {
		return nil
	}
	ids := make([]core.ApprovalID, len(open))
	for i, a := range open {
		ids[i] = a.ID
	}
	var rows [][]core.Button
	each := func(label, style string, do button.Verb) {
		var row []core.Button
		for _, a := range open {
			p := button.Press{Do: do, Approval: a.ID, Session: a.Session, Prompt: a.Prompt}
			if do == button.DoApprove && a.Confirm != "" {
				p.Do = button.DoConfirm
			}
			if row = append(row, bs.Add(fmt.Sprintf(label, a.Number), style, p)); len(row) == perRow {
				rows, row = append(rows, row), nil
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	all := button.Press{Approvals: ids, Session: list[0].Session, Prompt: list[0].Prompt}
	if len(open) == len(list) && !confirm {
		yes := all
		yes.Do = button.DoApprove
		rows = append(rows, []core.Button{bs.Add(fmt.Sprintf(phrase.LabelApproveAll, len(open)), "primary", yes)})
	}
	each(phrase.LabelApproveN, "", button.DoApprove)
	each(phrase.LabelDenyN, "danger", button.DoDeny)
	no := all
	no.Do = button.DoDeny
	return append(rows, []core.Button{bs.Add(phrase.LabelDenyAll, "danger", no)})
}
