package target

import (
	"context"
	"fmt"
	"time"

	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/state"
)

// listed are the refs of the last list that a person saw at a place, for #n.
type listed struct {
	Refs []core.Ref `json:"refs"`
}

const listedKept = time.Hour

func (f *Finder) Remember(ctx context.Context, v *visit.Visit, refs []core.Ref) error {
	var b state.Batch
	b.Put(state.ListedKey(v.Place, v.Person), listed{Refs: refs}, listedKept)
	_, err := b.Commit(ctx, f.cfg.Store)
	return err
}

func (f *Finder) numbered(ctx context.Context, v *visit.Visit, n int) (core.Ref, error) {
	l, _, err := state.Get[listed](ctx, f.cfg.Store, state.ListedKey(v.Place, v.Person))
	if err != nil {
		return "", err
	}
	if n < 1 || n > len(l.Value.Refs) {
		return "", fmt.Errorf("%w: the last list has no #%d", core.ErrRefused, n)
	}
	return l.Value.Refs[n-1], nil
}
