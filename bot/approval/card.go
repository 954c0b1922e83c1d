// Package approval shows approvals: cards of one or of several, their copies for approvers, and what was decided. It reads and writes nothing.
package approval

import (
	"fmt"
	"strings"
	"time"

	"paragents/bot/button"
	"paragents/bot/markup"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/core"
)

// Cards renders the approvals of one letter.
type Cards struct {
	Letter  core.Letter
	Caps    core.Capabilities
	Word    core.PromptState // of the prompt
	Now     time.Time
	Buttons button.Set
	Called  func(core.Person) string // as Markdown
}

// Decided shows who, what and when, and has no buttons. The whole action was shown before.
func (c *Cards) Decided(a core.Approval) []core.Message {
	text := page.Head(c.Letter, c.Caps, c.Word) + c.outcome(a)
	if a.Reason != "" {
		text += fmt.Sprintf(" (%s)", phrase.Escape(a.Reason))
	}
	if c.Caps.Lines { // a line cannot be replaced, and the decision was typed here: one short line
		return page.Messages(page.Page{Text: text, Card: c.name(page.ApprovalCard(a))}, c.Caps, c.Letter.Place)
	}
	text += "\n" + phrase.Fence(markup.Visible(phrase.Cut(a.Action.Show, min(shownAfter, c.Caps.Max/4))))
	if a.State == core.Approved {
		text += fmt.Sprintf(phrase.Receipt, a.Digest[:12], a.Trace)
	}
	return append(page.Replacing(page.Messages(page.Page{Text: text}, c.Caps, c.Letter.Place), c.name(page.ApprovalCard(a))), c.second(a)...)
}

// second takes the buttons off the question whether a yes was really meant, if that was asked.
func (c *Cards) second(a core.Approval) []core.Message {
	if c.Letter.Copy != nil {
		return nil
	}
	return page.Replacing(page.Messages(page.Page{Text: c.outcome(a)}, c.Caps, c.Letter.Place), page.SecondCard(a))
}

// shownAfter is how much of an action its card repeats after the decision, in runes.
const shownAfter = 300

// Open shows a question: the whole action first, then what it touches and why it is asked, then the buttons.
func (c *Cards) Open(a core.Approval) []core.Message {
	head := page.Head(c.Letter, c.Caps, core.Waiting)
	number := ""
	if a.Of > 1 {
		number = fmt.Sprintf(" %d of %d", a.Number, a.Of)
	}
	head += c.reminder(a) + c.whose(a) + fmt.Sprintf(phrase.Asks, a.Ref, number, phrase.Escape(a.Action.Tool)) + "\n"
	var b strings.Builder
	fmt.Fprintf(&b, phrase.In, phrase.Code(a.Action.Dir))
	fmt.Fprintf(&b, phrase.Because, phrase.Escape(a.Rule))
	if len(a.Writes) > 0 {
		fmt.Fprintf(&b, phrase.Writes, phrase.Files(a.Writes))
	}
	if len(a.Hosts) > 0 {
		fmt.Fprintf(&b, phrase.Reaches, phrase.Files(a.Hosts))
	}
	b.WriteString(unchecked(a))
	if !c.Caps.Buttons {
		fmt.Fprintf(&b, phrase.DecideTyped, c.Caps.Slash, a.Ref, c.Caps.Slash, a.Ref)
	}
	show := markup.Visible(a.Action.Show)
	p := page.Page{Text: head + phrase.Fence(show) + b.String()}
	if c.Caps.Files && page.TooLong(p.Text, c.Caps) {
		p.File = &core.File{Name: string(a.Ref) + ".txt", Data: []byte(show)}
		p.Text = head + phrase.Fence(phrase.Cut(show, shownAfter)) + fmt.Sprintf(phrase.Whole, len(show), a.Digest[:12]) + b.String()
	}
	p.Rows = c.rows(a)
	ms := page.Messages(p, c.Caps, c.Letter.Place)
	if n := len(ms); n > 0 {
		ms[n-1].Card = c.name(page.ApprovalCard(a))
	}
	return append(c.again(c.name(page.ApprovalCard(a)), page.Head(c.Letter, c.Caps, core.Waiting)+phrase.Code(string(a.Ref))), page.Loud(ms, true)...)
}

// unchecked says what came into the conversation that nobody has checked, and may be why the action is asked for.
func unchecked(a core.Approval) string {
	if len(a.Entered) == 0 {
		return ""
	}
	return fmt.Sprintf(phrase.Entered, phrase.Escape(strings.Join(a.Entered, "; ")))
}

// reminder is how a question begins that is asked once more.
func (c *Cards) reminder(a core.Approval) string {
	if c.Letter.Event.Type != core.EventReminder {
		return ""
	}
	return fmt.Sprintf(phrase.StillWaits, c.Now.Sub(a.Created).Round(time.Minute))
}

// again takes the buttons off the card of a question that is asked once more: there is one place to answer.
func (c *Cards) again(card, what string) []core.Message {
	if c.Letter.Event.Type != core.EventReminder || c.Caps.Lines {
		return nil
	}
	return page.Replacing(page.Messages(page.Page{Text: what + phrase.AgainBelow}, c.Caps, c.Letter.Place), card) // silent: where there is none, nothing is said
}

// rows are the buttons of one question. A yes and a no never stand in one row.
func (c *Cards) rows(a core.Approval) [][]core.Button {
	ref := button.Press{Approval: a.ID, Session: a.Session, Prompt: a.Prompt}
	approve := ref
	if approve.Do = button.DoApprove; a.Confirm != "" {
		approve.Do = button.DoConfirm
	}
	rows := [][]core.Button{{c.Buttons.Add(phrase.LabelApprove, "primary", approve)}}
	if len(a.Offers) > 0 && a.Confirm == "" {
		inSession, always := ref, ref
		inSession.Do, inSession.Scope = button.DoScope, core.ForSession
		always.Do, always.Scope = button.DoScope, core.Always
		rows = append(rows, []core.Button{c.Buttons.Add(phrase.LabelSession, "", inSession), c.Buttons.Add(phrase.LabelAlways, "", always)})
	}
	deny := ref
	deny.Do = button.DoDeny
	no := []core.Button{c.Buttons.Add(phrase.LabelDeny, "danger", deny)}
	if !c.Caps.Lines {
		why := ref
		why.Do = button.DoReason
		no = append(no, c.Buttons.Add(phrase.LabelDenyWhy, "", why))
	}
	return append(rows, no)
}

// outcome is what became of a question: who, what and when.
func (c *Cards) outcome(a core.Approval) string {
	return fmt.Sprintf(phrase.Decided, a.Ref, decidedWord(a), c.by(a), a.Decided.UTC().Format("15:04:05"))
}

// by says who decided it, if anybody did.
func (c *Cards) by(a core.Approval) string {
	if a.By == "" {
		return ""
	}
	return " by " + c.Called(a.By)
}

func decidedWord(a core.Approval) string {
	if a.State == core.Approved && a.Scope != "" && a.Scope != core.Once {
		return string(a.State) + " for this " + map[core.Scope]string{core.ForSession: "session", core.Always: "workspace"}[a.Scope]
	}
	return string(a.State)
}
