package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"paragents/core/state"
	"paragents/store"
)

// Album is a submission that comes in several messages, held back until none has come for a while.
type Album struct {
	Submission Submission `json:"submission"`
	Messages   []string   `json:"messages"`
}

const (
	albumQuiet = time.Second
	albumKept  = 24 * time.Hour
	maxAlbum   = 100 // messages
)

// Gather adds a message to the album of its group, which is accepted as one prompt when it has been quiet. It is durable when Gather returns. A message that comes
// after that is part of nothing: without a text of its own it starts no prompt.
func (s *Scheduler) Gather(ctx context.Context, group string, sub Submission) error {
	return state.Retry(ctx, "gather album", func() error {
		key := state.AlbumKey(group)
		snap, err := s.store.Get(ctx, key, state.EventKey(state.DueAlbum+group))
		if err != nil {
			return err
		}
		d, err := state.Decode[Album](key, snap.Docs[0])
		if err != nil {
			return err
		}
		a := d.Value
		switch {
		case snap.Docs[1].Version != 0, slices.Contains(a.Messages, sub.Message), len(a.Messages) >= maxAlbum:
			return nil
		case !d.Exists():
			a.Submission = sub
			a.Submission.Event = state.DueAlbum + group
		default:
			a.Submission.Attachments = append(a.Submission.Attachments, sub.Attachments...)
			a.Submission.Text = strings.TrimSpace(a.Submission.Text + "\n" + sub.Text)
		}
		a.Messages = append(a.Messages, sub.Message)
		b := &state.Batch{}
		b.Durable = true
		b.Expect(key, d.Version)
		b.Put(key, a, albumKept)
		b.InsertNow(state.Due, state.DueAlbum+group, albumQuiet)
		_, err = b.Commit(ctx, s.store)
		return err
	})
}

// acceptAlbum makes a prompt of an album that has been quiet.
func (s *Scheduler) acceptAlbum(ctx context.Context, group string) error {
	d, _, err := state.Get[Album](ctx, s.store, state.AlbumKey(group))
	if err != nil {
		return err
	}
	if !d.Exists() {
		var b state.Batch
		b.RemoveFrom(state.Due, state.DueAlbum+group)
		_, err := b.Commit(ctx, s.store)
		return err
	}
	_, err = s.acceptOnce(ctx, []Submission{d.Value.Submission}, func(b *state.Batch) {
		b.Expect(state.AlbumKey(group), d.Version)
		b.RemoveFrom(state.Due, state.DueAlbum+group)
	})
	if errors.Is(err, store.ErrConflict) {
		return nil // another message came, or another replica was faster: it stays due
	}
	return err
}
