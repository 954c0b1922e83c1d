package look

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"paragents/bot/button"
	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/target"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/reader"
	"paragents/core/state"
)

// How many sessions one list shows: with a row of buttons for each, without, and over all its pages.
const (
	listPage   = 8
	mostListed = 20
	allListed  = 200
)

// List shows the visitor's sessions, or all that they may see, page by page.
func (d *Desk) List(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	index, all, number := state.ByPerson(v.Person), false, 1
	for _, word := range c.Args {
		if n, err := strconv.Atoi(word); err == nil {
			number = max(n, 1)
		} else if strings.EqualFold(word, "all") {
			index, all = state.Sessions, true
		}
	}
	views, err := d.s.List(ctx, index, allListed, false)
	if err != nil {
		return err
	}
	var seen []reader.View
	for _, w := range views {
		if !all || d.find.MaySee(v, w.Session) {
			seen = append(seen, w)
		}
	}
	if len(seen) == 0 {
		v.Say(phrase.NoSessions)
		return nil
	}
	size := mostListed
	if v.Caps.Buttons && !v.Caps.Lines {
		size = listPage
	}
	number = min(number, (len(seen)+size-1)/size)
	from, to := (number-1)*size, min(number*size, len(seen))
	var b strings.Builder
	var bs button.Set
	var shown page.Page
	refs := make([]core.Ref, 0, to)
	for i, w := range seen[:to] {
		refs = append(refs, w.Session.Ref)
		if i < from {
			continue
		}
		b.WriteString(d.listed(v, i+1, w))
		if size == listPage {
			if row := d.orders(&bs, v, w, fmt.Sprintf(" %d", i+1)); len(row) > 0 {
				shown.Rows = append(shown.Rows, row)
			}
		}
	}
	if len(seen) > size {
		fmt.Fprintf(&b, "\n"+phrase.Page, from+1, to, len(seen))
		if size == listPage {
			shown.Rows = append(shown.Rows, turning(&bs, v, all, number, to < len(seen)))
		} else {
			fmt.Fprintf(&b, phrase.PageTyped, v.Caps.Slash)
		}
	}
	shown.Text = b.String()
	v.Out = append(v.Out, shown)
	if !bs.Empty() {
		if err := bs.Store(ctx, d.cfg.Store); err != nil {
			return err
		}
	}
	return d.find.Remember(ctx, v, refs)
}

// listed is one line of a list.
func (d *Desk) listed(v *visit.Visit, n int, w reader.View) string {
	active := ""
	if w.Session.ID == v.Bound {
		active = " ← active"
	}
	prompt := ""
	if w.Prompt.Ref != "" && len(w.Session.Queue) > 0 {
		prompt = fmt.Sprintf("[P:%s]", w.Prompt.Ref)
	}
	line := fmt.Sprintf("%d. [S:%s]%s[%s] %s · %s · %s%s\n", n, w.Session.Ref, prompt, w.Word(), phrase.Escape(w.Session.Title),
		phrase.Ago(d.s.Now().Sub(w.Session.Touched)), phrase.Person(w.Session.Owner), active)
	if more := len(w.Session.Queue) - 1; more > 0 {
		line += fmt.Sprintf("   %d more queued\n", more)
	}
	return line
}

// turning are the buttons that turn the pages of a list.
func turning(bs *button.Set, v *visit.Visit, all bool, page int, more bool) []core.Button {
	var row []core.Button
	to := func(label string, page int) {
		words := []string{"list", strconv.Itoa(page)}
		if all {
			words = []string{"list", "all", strconv.Itoa(page)}
		}
		row = append(row, bs.Add(label, "", button.Press{Do: button.DoCommand, Command: strings.Join(words, " "), For: v.Person}))
	}
	if page > 1 {
		to(phrase.LabelNewer, page-1)
	}
	if more {
		to(phrase.LabelOlder, page+1)
	}
	return row
}

// orders are the buttons for a session, if the visitor may direct it: open, pause or resume, stop, close.
func (d *Desk) orders(bs *button.Set, v *visit.Visit, w reader.View, suffix string) []core.Button {
	if w.Session.Owner != v.Person && v.MayOrder(w.Session.Owner) != nil {
		return nil
	}
	var row []core.Button
	order := func(label, style, command string) {
		p := button.Press{Do: button.DoCommand, Command: command + " " + string(w.Session.Ref), Session: w.Session.ID, For: v.Person}
		row = append(row, bs.Add(label+suffix, style, p))
	}
	link := ""
	if l, ok := v.Adapter.(core.Linker); ok {
		link = l.Link(w.Session.Place)
	}
	switch {
	case link != "":
		row = append(row, core.Button{Label: phrase.LabelOpen + suffix, URL: link})
	case v.Place.Channel != "" && w.Session.ID != v.Bound:
		order(phrase.LabelOpen, "", "switch")
	}
	switch {
	case target.Fits("resume", w):
		order(phrase.LabelResume, "", "resume")
	case target.Fits("pause", w):
		order(phrase.LabelPause, "", "pause")
	}
	if target.Fits("stop", w) {
		order(phrase.LabelStop, "danger", "stop")
	} else {
		order(phrase.LabelClose, "", "close")
	}
	return row
}
