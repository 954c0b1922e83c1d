package target

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"paragents/bot/grammar"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/reader"
)

func (f *Finder) MayOrderSession(ctx context.Context, v *visit.Visit, id core.SessionID) error {
	views, err := f.s.Views(ctx, []core.SessionID{id})
	if err != nil || len(views) == 0 {
		return errors.Join(err, core.ErrNotFound)
	}
	return v.MayOrder(views[0].Session.Owner)
}

// Decidable are the approvals that the visitor may decide, those first that have waited longest. What others do in conversations of their own is not among them, unless
// they cannot decide it themselves.
func (f *Finder) Decidable(ctx context.Context, v *visit.Visit) ([]core.Approval, error) {
	list, err := f.s.Waiting(ctx, maxCandidates)
	var out []core.Approval
	for _, a := range list {
		theirs := a.Place.Private && a.Author != v.Person && f.cfg.Access.MayDecide(v.Grants, a.Author, a, core.Once) == nil
		if !theirs && f.cfg.Access.MayDecide(v.Grants, v.Person, a, core.Once) == nil {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b core.Approval) int { // those of one card have one time
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(string(a.Prompt), string(b.Prompt)), a.Number-b.Number)
	})
	return out, err
}

// MaySee reports whether the visitor may see a session of somebody else: private ones are their owner's alone.
func (f *Finder) MaySee(v *visit.Visit, s core.Session) bool {
	return s.Owner == v.Person || !s.Place.Private && f.cfg.Access.Role(v.Grants, v.Person, s.Place) >= access.Viewer
}

func (f *Finder) View(ctx context.Context, v *visit.Visit, c grammar.Command) (reader.View, error) {
	x, err := f.Find(ctx, v, c)
	if err != nil {
		return reader.View{}, err
	}
	views, err := f.s.Views(ctx, []core.SessionID{x.Session})
	if err != nil || len(views) == 0 {
		return reader.View{}, errors.Join(err, core.ErrNotFound)
	}
	if !f.MaySee(v, views[0].Session) && v.Role < access.Admin {
		return reader.View{}, core.ErrNotFound
	}
	return views[0], nil
}
