package bot

import (
	"context"
	"fmt"
	"strings"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
)

// How much of a message that is asked about is shown again, and is kept, in characters.
const (
	shownQuote = 300
	keptQuote  = 12_000
)

// about opens a session about a message that the visitor points at, and asks there what is to be done: the message is anybody's, and says nothing by itself.
func (d *Desk) about(ctx context.Context, v *visit) error {
	switch {
	case v.About == nil:
		return nil
	case v.role < access.Operator:
		return d.stranger(ctx, v)
	}
	about := *v.About
	about.Text = cutRunes(about.Text, keptQuote)
	sess, opened, err := d.s.Open(ctx, v.Person, v.Place, scheduler.NewSession{Workspace: d.workspace(v), Join: !v.Place.Private}, about)
	if err != nil {
		return err
	}
	again := sess.Owner == v.Person && sess.About != nil && sess.About.Message == v.Message && len(sess.Queue) == 0 && sess.Last == "" // it came twice, or was asked twice
	if !opened && !again {
		v.say(saysWorksHere, named(sess))
		return nil
	}
	quoted := strings.ReplaceAll(escape(cutRunes(strings.TrimSpace(v.About.Text), shownQuote)), "\n", "\n> ")
	r := reply{adapter: v.adapter, messages: d.cfg.messages(page{text: fmt.Sprintf(saysWhatToDo, escape(v.Name), escape(v.About.Name), quoted)}, v.caps, v.Place)}
	r.failed = func(err error) []core.Message { // the bot may not be where the message is
		ms := d.cfg.messages(page{text: fmt.Sprintf(saysCannotAsk, escape(err.Error()))}, v.caps, v.Place)
		for i := range ms {
			ms[i].Callback, ms[i].Only = v.Callback, v.Person
		}
		return ms
	}
	d.queue(ctx, r)
	return nil
}
