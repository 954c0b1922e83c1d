package bot

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"paragents/bot/markup"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// How much a person's own page shows.
const (
	homeApprovals = 8
	homeSessions  = 20
	homeShown     = 6000 // characters of an action: of a longer one there are no buttons
)

// home shows the visitor the page that is theirs alone: what they may decide, whole and with the buttons that it has elsewhere, and their sessions.
func (d *Desk) home(ctx context.Context, v *visit) error {
	homer, ok := v.adapter.(core.Homer)
	if !ok {
		return nil
	}
	list, err := d.decidable(ctx, v)
	if err != nil {
		return err
	}
	views, err := d.s.List(ctx, state.ByPerson(v.Person), homeSessions, false)
	if err != nil {
		return err
	}
	if v.role == access.Nobody && len(list)+len(views) == 0 {
		return d.show(ctx, v, homer, []core.Item{{Text: saysNotIn}}, nil)
	}
	c := cards{s: d.screen, caps: v.caps, now: d.s.Now()}
	page := []core.Item{{Text: fmt.Sprintf(saysHomeAsks, len(list))}}
	for _, a := range list[:min(len(list), homeApprovals)] {
		page = append(page, c.item(a))
	}
	page = append(page, core.Item{Text: fmt.Sprintf(saysHomeSessions, v.caps.Slash)})
	for _, w := range views {
		item := core.Item{Text: fmt.Sprintf("[S:%s][%s] %s · %s · %s", w.Session.Ref, w.Word(), w.Session.Title, ago(d.s.Now().Sub(w.Session.Touched)), w.Session.Workspace)}
		if row := d.orders(&c.buttons, v, w, ""); len(row) > 0 {
			item.Rows = [][]core.Button{row}
		}
		page = append(page, item)
	}
	return d.show(ctx, v, homer, page, c.buttons.put)
}

func (d *Desk) show(ctx context.Context, v *visit, homer core.Homer, page []core.Item, put func(*state.Batch)) error {
	if put != nil {
		var b state.Batch
		put(&b)
		if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
			return err
		}
	}
	who := v.Person
	d.queue(ctx, reply{also: func(ctx context.Context) error { return homer.ShowHome(ctx, who, page) }})
	return nil
}

// item is one question on a person's own page. What is not shown whole has no buttons there.
func (c *cards) item(a core.Approval) core.Item {
	show := markup.Visible(a.Action.Show)
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s · [S:%s] %s · %s\n", a.Ref, a.Action.Tool, a.SessionRef, a.Title, ago(c.now.Sub(a.Created)))
	if len([]rune(show)) > homeShown {
		b.WriteString(cutRunes(show, shownAfter) + "\n" + saysElsewhereWhole)
		return core.Item{Text: b.String()}
	}
	fmt.Fprintf(&b, "%s\nin %s\n"+saysBecause, show, a.Action.Dir, a.Rule)
	return core.Item{Text: b.String(), Rows: c.rows(a)}
}

// decidable are the approvals that the visitor may decide, those first that have waited longest. What others do in conversations of their own is not among them, unless
// they cannot decide it themselves.
func (d *Desk) decidable(ctx context.Context, v *visit) ([]core.Approval, error) {
	list, err := d.s.Waiting(ctx, maxCandidates)
	var out []core.Approval
	for _, a := range list {
		theirs := a.Place.Private && a.Author != v.Person && d.cfg.Access.MayDecide(v.grants, a.Author, a, core.Once) == nil
		if !theirs && d.cfg.Access.MayDecide(v.grants, v.Person, a, core.Once) == nil {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b core.Approval) int { // those of one card have one time
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(string(a.Prompt), string(b.Prompt)), a.Number-b.Number)
	})
	return out, err
}

// atHome gives a visitor on their own page the role that they have where the session of a button is.
func (d *Desk) atHome(ctx context.Context, v *visit) error {
	if v.Place.Channel != "" || v.press == nil || v.press.Session == "" {
		return nil
	}
	views, err := d.s.Views(ctx, []core.SessionID{v.press.Session})
	if err == nil && len(views) > 0 {
		v.role = max(v.role, d.cfg.Access.Role(v.grants, v.Person, views[0].Session.Place))
	}
	return err
}

// orders are the buttons for a session, if the visitor may direct it: open, pause or resume, stop, close.
func (d *Desk) orders(bs *buttons, v *visit, w scheduler.View, suffix string) []core.Button {
	if w.Session.Owner != v.Person && d.mayOrder(v, w.Session.Owner) != nil {
		return nil
	}
	var row []core.Button
	order := func(label, style, command string) {
		p := press{Do: doCommand, Command: command + " " + string(w.Session.Ref), Session: w.Session.ID, For: v.Person}
		row = append(row, bs.add(label+suffix, style, p))
	}
	link := ""
	if l, ok := v.adapter.(core.Linker); ok {
		link = l.Link(w.Session.Place)
	}
	switch {
	case link != "":
		row = append(row, core.Button{Label: labelOpen + suffix, URL: link})
	case v.Place.Channel != "" && w.Session.ID != v.bound:
		order(labelOpen, "", "switch")
	}
	switch {
	case fits("resume", w):
		order(labelResume, "", "resume")
	case fits("pause", w):
		order(labelPause, "", "pause")
	}
	if fits("stop", w) {
		order(labelStop, "danger", "stop")
	} else {
		order(labelClose, "", "close")
	}
	return row
}
