package look

import (
	"context"
	"fmt"

	"paragents/bot/approval"
	"paragents/bot/button"
	"paragents/bot/phrase"
	"paragents/bot/reply"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/state"
)

// How much a person's own page shows.
const (
	homeApprovals = 8
	homeSessions  = 20
)

// Home shows the visitor the page that is theirs alone: what they may decide, whole and with the buttons that it has elsewhere, and their sessions.
func (d *Desk) Home(ctx context.Context, v *visit.Visit) error {
	homer, ok := v.Adapter.(core.Homer)
	if !ok {
		return nil
	}
	list, err := d.find.Decidable(ctx, v)
	if err != nil {
		return err
	}
	views, err := d.s.List(ctx, state.ByPerson(v.Person), homeSessions, false)
	if err != nil {
		return err
	}
	if v.Role == access.Nobody && len(list)+len(views) == 0 {
		return d.show(ctx, v, homer, []core.Item{{Text: phrase.NotIn}}, nil)
	}
	c := approval.Cards{Caps: v.Caps, Now: d.s.Now()}
	page := []core.Item{{Text: fmt.Sprintf(phrase.HomeAsks, len(list))}}
	for _, a := range list[:min(len(list), homeApprovals)] {
		page = append(page, c.Item(a))
	}
	page = append(page, core.Item{Text: fmt.Sprintf(phrase.HomeSessions, v.Caps.Slash)})
	for _, w := range views {
		item := core.Item{Text: fmt.Sprintf("[S:%s][%s] %s · %s · %s", w.Session.Ref, w.Word(), w.Session.Title, phrase.Ago(d.s.Now().Sub(w.Session.Touched)), w.Session.Workspace)}
		if row := d.orders(&c.Buttons, v, w, ""); len(row) > 0 {
			item.Rows = [][]core.Button{row}
		}
		page = append(page, item)
	}
	return d.show(ctx, v, homer, page, &c.Buttons)
}

func (d *Desk) show(ctx context.Context, v *visit.Visit, homer core.Homer, page []core.Item, bs *button.Set) error {
	if bs != nil {
		if err := bs.Store(ctx, d.cfg.Store); err != nil {
			return err
		}
	}
	who := v.Person
	d.replies.Add(ctx, reply.Reply{Also: func(ctx context.Context) error { return homer.ShowHome(ctx, who, page) }})
	return nil
}
