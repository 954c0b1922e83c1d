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
	list, now, err := s.approvals(ctx, l.Event.Approvals)
	if err != nil || len(list) == 0 {
		return delivery.Rendered{}, err
	}
	p, _, err := state.Get[core.Prompt](ctx, s.cfg.Store, state.PromptKey(l.PromptID))
	if err != nil {
		return delivery.Rendered{}, err
	}
	c := cards{s: s, l: l, caps: caps, word: p.Value.State, now: now, called: func(p core.Person) string { return escape(s.called(ctx, p)) }}
	if c.word == core.Queued { // it goes on at once
		c.word = core.Running
	}
	var out delivery.Rendered
	switch group := list[0].Group; {
	case len(group) > 1 && !caps.Lines:
		if list, _, err = s.approvals(ctx, group); err != nil {
			return delivery.Rendered{}, err
		}
		out.Messages = c.group(list)
	case l.Event.State != string(core.Pending) && l.Event.Type != core.EventReminder:
		out.Messages = c.decided(list[0])
	default:
		for _, a := range list {
			out.Messages = append(out.Messages, c.open(a)...)
		}
	}
	if len(c.buttons.presses) > 0 && caps.Buttons {
		out.Put = c.buttons.put
	}
	return out, nil
}

// approvals reads those that are still there.
func (s *Screen) approvals(ctx context.Context, ids []core.ApprovalID) ([]core.Approval, time.Time, error) {
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = state.ApprovalKey(id)
	}
	docs, now, err := state.GetAll[core.Approval](ctx, s.cfg.Store, keys)
	var out []core.Approval
	for _, d := range docs {
		if d.Exists() {
			out = append(out, d.Value)
		}
	}
	return out, now, err
}

// cards renders the approvals of one letter.
type cards struct {
	s       *Screen
	l       core.Letter
	caps    core.Capabilities
	word    core.PromptState // of the prompt
	now     time.Time
	buttons buttons
	called  func(core.Person) string // as Markdown
}

// decided shows who, what and when, and has no buttons. The whole action was shown before.
func (c *cards) decided(a core.Approval) []core.Message {
	text := c.s.head(c.l, c.caps, c.word) + c.outcome(a)
	if a.Reason != "" {
		text += fmt.Sprintf(" (%s)", escape(a.Reason))
	}
	if c.caps.Lines { // a line cannot be replaced, and the decision was typed here: one short line
		return c.s.cfg.messages(page{text: text, card: c.name(card(a))}, c.caps, c.l.Place)
	}
	text += "\n" + fence(markup.Visible(cutRunes(a.Action.Show, min(shownAfter, c.caps.Max/4))))
	if a.State == core.Approved {
		text += fmt.Sprintf(saysReceipt, a.Digest[:12], a.Trace)
	}
	return append(replacing(c.s.cfg.messages(page{text: text}, c.caps, c.l.Place), c.name(card(a))), c.second(a)...)
}

// second takes the buttons off the question whether a yes was really meant, if that was asked.
func (c *cards) second(a core.Approval) []core.Message {
	if c.l.Copy != nil {
		return nil
	}
	return replacing(c.s.cfg.messages(page{text: c.outcome(a)}, c.caps, c.l.Place), secondCard(a))
}

// shownAfter is how much of an action its card repeats after the decision, in runes.
const shownAfter = 300

func card(a core.Approval) string       { return "approval/" + string(a.ID) }
func secondCard(a core.Approval) string { return "second/" + string(a.ID) }

// replacing makes messages change the one that stands as a card: what does not fit into one is left out.
func replacing(ms []core.Message, card string) []core.Message {
	if len(ms) == 0 {
		return nil
	}
	m := ms[len(ms)-1]
	m.Card, m.Replace = card, true
	return []core.Message{m}
}

// open shows a question: the whole action first, then what it touches and why it is asked, then the buttons.
func (c *cards) open(a core.Approval) []core.Message {
	head := c.s.head(c.l, c.caps, core.Waiting)
	number := ""
	if a.Of > 1 {
		number = fmt.Sprintf(" %d of %d", a.Number, a.Of)
	}
	head += c.reminder(a) + c.whose(a) + fmt.Sprintf(saysAsks, a.Ref, number, escape(a.Action.Tool)) + "\n"
	var b strings.Builder
	fmt.Fprintf(&b, saysIn, code(a.Action.Dir))
	fmt.Fprintf(&b, saysBecause, escape(a.Rule))
	if len(a.Writes) > 0 {
		fmt.Fprintf(&b, saysWrites, files(a.Writes))
	}
	if len(a.Hosts) > 0 {
		fmt.Fprintf(&b, saysReaches, files(a.Hosts))
	}
	b.WriteString(unchecked(a))
	if !c.caps.Buttons {
		fmt.Fprintf(&b, saysDecideTyped, c.caps.Slash, a.Ref, c.caps.Slash, a.Ref)
	}
	show := markup.Visible(a.Action.Show)
	p := page{text: head + fence(show) + b.String()}
	if c.caps.Files && len(c.s.cfg.pieces(p.text, c.caps)) > maxPieces {
		p.file = &core.File{Name: string(a.Ref) + ".txt", Data: []byte(show)}
		p.text = head + fence(cutRunes(show, shownAfter)) + fmt.Sprintf(saysWhole, len(show), a.Digest[:12]) + b.String()
	}
	p.rows = c.rows(a)
	ms := c.s.cfg.messages(p, c.caps, c.l.Place)
	if n := len(ms); n > 0 {
		ms[n-1].Card = c.name(card(a))
	}
	return append(c.again(c.name(card(a)), c.s.head(c.l, c.caps, core.Waiting)+code(string(a.Ref))), loud(ms, true)...)
}

// unchecked says what came into the conversation that nobody has checked, and may be why the action is asked for.
func unchecked(a core.Approval) string {
	if len(a.Entered) == 0 {
		return ""
	}
	return fmt.Sprintf(saysEntered, escape(strings.Join(a.Entered, "; ")))
}

// reminder is how a question begins that is asked once more.
func (c *cards) reminder(a core.Approval) string {
	if c.l.Event.Type != core.EventReminder {
		return ""
	}
	return fmt.Sprintf(saysStillWaits, c.now.Sub(a.Created).Round(time.Minute))
}

// again takes the buttons off the card of a question that is asked once more: there is one place to answer.
func (c *cards) again(card, what string) []core.Message {
	if c.l.Event.Type != core.EventReminder || c.caps.Lines {
		return nil
	}
	return replacing(c.s.cfg.messages(page{text: what + saysAgainBelow}, c.caps, c.l.Place), card) // silent: where there is none, nothing is said
}

// rows are the buttons of one question. A yes and a no never stand in one row.
func (c *cards) rows(a core.Approval) [][]core.Button {
	ref := press{Approval: a.ID, Session: a.Session, Prompt: a.Prompt}
	approve := ref
	if approve.Do = doApprove; a.Confirm != "" {
		approve.Do = doConfirm
	}
	rows := [][]core.Button{{c.buttons.add(labelApprove, "primary", approve)}}
	if len(a.Offers) > 0 && a.Confirm == "" {
		inSession, always := ref, ref
		inSession.Do, inSession.Scope = doScope, core.ForSession
		always.Do, always.Scope = doScope, core.Always
		rows = append(rows, []core.Button{c.buttons.add(labelSession, "", inSession), c.buttons.add(labelAlways, "", always)})
	}
	deny := ref
	deny.Do = doDeny
	no := []core.Button{c.buttons.add(labelDeny, "danger", deny)}
	if !c.caps.Lines {
		why := ref
		why.Do = doReason
		no = append(no, c.buttons.add(labelDenyWhy, "", why))
	}
	return append(rows, no)
}

// outcome is what became of a question: who, what and when.
func (c *cards) outcome(a core.Approval) string {
	return fmt.Sprintf(saysDecided, a.Ref, decidedWord(a), c.by(a), a.Decided.UTC().Format("15:04:05"))
}

// by says who decided it, if anybody did.
func (c *cards) by(a core.Approval) string {
	if a.By == "" {
		return ""
	}
	return " by " + c.called(a.By)
}

func decidedWord(a core.Approval) string {
	if a.State == core.Approved && a.Scope != "" && a.Scope != core.Once {
		return string(a.State) + " for this " + map[core.Scope]string{core.ForSession: "session", core.Always: "workspace"}[a.Scope]
	}
	return string(a.State)
}
