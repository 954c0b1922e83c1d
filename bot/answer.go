package bot

import (
	"context"

	"paragents/bot/page"
	"paragents/bot/reply"
	"paragents/bot/visit"
	"paragents/core"
)

// answer queues what is to be said, behind what others are told.
func (d *Desk) answer(ctx context.Context, v *visit.Visit) {
	if len(v.Out) == 0 {
		return
	}
	r := reply.Reply{Adapter: v.Adapter}
	if v.Place.Channel == "" { // a person's own page, which takes no messages
		r.Direct = v.Person
	}
	for _, p := range v.Out {
		ms := page.Messages(p, v.Caps, v.Place)
		for i := range ms {
			ms[i].Callback = v.Callback
			if v.Kind != core.InJoined && (!p.Open || v.Place.Private) { // the welcome is for everybody
				ms[i].Only = v.Person
			}
		}
		r.Messages = append(r.Messages, ms...)
	}
	v.Out = nil
	d.replies.Add(ctx, r)
}
