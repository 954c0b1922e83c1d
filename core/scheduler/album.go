package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"paragents/core"
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
	return s.retry(ctx, "gather album", func() error {
		key := state.AlbumKey(group)
		snap, err := s.store.Get(ctx, key, state.EventKey(dueAlbum+group))
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
			a.Submission.Event = dueAlbum + group
		default:
			a.Submission.Attachments = append(a.Submission.Attachments, sub.Attachments...)
			a.Submission.Text = strings.TrimSpace(a.Submission.Text + "\n" + sub.Text)
		}
		a.Messages = append(a.Messages, sub.Message)
		b := &state.Batch{}
		b.Durable = true
		b.Expect(key, d.Version)
		b.Put(key, a, albumKept)
		b.InsertNow(state.Due, dueAlbum+group, albumQuiet)
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
		b.RemoveFrom(state.Due, dueAlbum+group)
		_, err := b.Commit(ctx, s.store)
		return err
	}
	_, err = s.acceptOnce(ctx, []Submission{d.Value.Submission}, func(b *state.Batch) {
		b.Expect(state.AlbumKey(group), d.Version)
		b.RemoveFrom(state.Due, dueAlbum+group)
	})
	if errors.Is(err, store.ErrConflict) {
		return nil // another message came, or another replica was faster: it stays due
	}
	return err
}

// Edit gives a prompt that has not begun another text; one that has begun refuses it.
func (s *Scheduler) Edit(ctx context.Context, id core.PromptID, who core.Person, text string) (core.Prompt, error) {
	return s.change(ctx, id, "edit", who, func(_ *state.Batch, p *pair) error {
		v := &p.prompt.Value
		switch {
		case v.Author != who:
			return fmt.Errorf("%w: only %s can change it", core.ErrForbidden, v.Author)
		case !v.Started.IsZero() || v.State.Ended():
			return fmt.Errorf("%w: %s has begun already, so the change of your message does nothing; write what is different", core.ErrRefused, v.Ref)
		}
		v.Text = text
		return nil
	})
}
