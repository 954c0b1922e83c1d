package bot

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// How many sessions one list shows: with a row of buttons for each, without, and over all its pages.
const (
	listPage   = 8
	mostListed = 20
	allListed  = 200
)

// list shows the visitor's sessions, or all that they may see, page by page.
func (d *Desk) list(ctx context.Context, v *visit, c Command) error {
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
	var seen []scheduler.View
	for _, w := range views {
		if !all || d.maySee(v, w.Session) {
			seen = append(seen, w)
		}
	}
	if len(seen) == 0 {
		v.say(saysNoSessions)
		return nil
	}
	size := mostListed
	if v.caps.Buttons && !v.caps.Lines {
		size = listPage
	}
	number = min(number, (len(seen)+size-1)/size)
	from, to := (number-1)*size, min(number*size, len(seen))
	var b strings.Builder
	var bs buttons
	var shown page
	refs := make([]core.Ref, 0, to)
	for i, w := range seen[:to] {
		refs = append(refs, w.Session.Ref)
		if i < from {
			continue
		}
		b.WriteString(d.listed(v, i+1, w))
		if size == listPage {
			if row := d.orders(&bs, v, w, fmt.Sprintf(" %d", i+1)); len(row) > 0 {
				shown.rows = append(shown.rows, row)
			}
		}
	}
	if len(seen) > size {
		fmt.Fprintf(&b, "\n"+saysPage, from+1, to, len(seen))
		if size == listPage {
			shown.rows = append(shown.rows, turning(&bs, v, all, number, to < len(seen)))
		} else {
			fmt.Fprintf(&b, saysPageTyped, v.caps.Slash)
		}
	}
	shown.text = b.String()
	v.out = append(v.out, shown)
	if len(bs.presses) > 0 {
		var put state.Batch
		bs.put(&put)
		if _, err := put.Commit(ctx, d.cfg.Store); err != nil {
			return err
		}
	}
	return d.remember(ctx, v, refs)
}

// listed is one line of a list.
func (d *Desk) listed(v *visit, n int, w scheduler.View) string {
	active := ""
	if w.Session.ID == v.bound {
		active = " ← active"
	}
	prompt := ""
	if w.Prompt.Ref != "" && len(w.Session.Queue) > 0 {
		prompt = fmt.Sprintf("[P:%s]", w.Prompt.Ref)
	}
	line := fmt.Sprintf("%d. [S:%s]%s[%s] %s · %s · %s%s\n", n, w.Session.Ref, prompt, w.Word(), escape(w.Session.Title),
		ago(d.s.Now().Sub(w.Session.Touched)), person(w.Session.Owner), active)
	if more := len(w.Session.Queue) - 1; more > 0 {
		line += fmt.Sprintf("   %d more queued\n", more)
	}
	return line
}

// turning are the buttons that turn the pages of a list.
func turning(bs *buttons, v *visit, all bool, page int, more bool) []core.Button {
	var row []core.Button
	to := func(label string, page int) {
		words := []string{"list", strconv.Itoa(page)}
		if all {
			words = []string{"list", "all", strconv.Itoa(page)}
		}
		row = append(row, bs.add(label, "", press{Do: doCommand, Command: strings.Join(words, " "), For: v.Person}))
	}
	if page > 1 {
		to(labelNewer, page-1)
	}
	if more {
		to(labelOlder, page+1)
	}
	return row
}
