package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// rest is a chat, or a platform, that must not be sent to before a time, and has to be sent to slowly before another.
type rest struct {
	Until time.Time `json:"until"`
	Slow  time.Time `json:"slow,omitzero"`
}

// slowFor is how long after a wait a chat is sent to slowly: one message in the shortest time that its platform wants between two edits.
const slowFor = time.Minute

// restKeys are the documents that say whether a place must rest: one of its chat, whatever the thread, and one of its platform.
func restKeys(p core.Place) []store.Key {
	chat := p
	chat.Thread = ""
	return []store.Key{state.RestKey(chat.Key()), state.RestKey(p.Platform)}
}

// restDocs reads them as they were got: how long the place must rest, and until when it is to be sent to slowly.
func restDocs(keys []store.Key, snap store.Snapshot) (wait time.Duration, slow time.Time, err error) {
	for i, key := range keys {
		d, err := state.Decode[rest](key, snap.Docs[i])
		if err != nil {
			return 0, slow, err
		}
		wait = max(wait, d.Value.Until.Sub(snap.Time))
		if d.Value.Slow.After(slow) {
			slow = d.Value.Slow
		}
	}
	return wait, slow, nil
}

// Resting is how long a place must not be sent to, on whatever replica the platform said so; 0: it may be sent to. If slowly, whoever does calls Pause.
func Resting(ctx context.Context, s store.Store, p core.Place) (wait time.Duration, slowly bool, err error) {
	keys := restKeys(p)
	snap, err := s.Get(ctx, keys...)
	if err != nil {
		return 0, false, fmt.Errorf("read whether %s rests: %w", p.Key(), err)
	}
	wait, slow, err := restDocs(keys, snap)
	return max(wait, 0), slow.After(snap.Time), err
}

// Pause notes that something was sent to a place that is to be sent to slowly, and returns how long nothing more may be.
func Pause(ctx context.Context, s store.Store, p core.Place, caps core.Capabilities) (time.Duration, error) {
	keys := restKeys(p)
	snap, err := s.Get(ctx, keys...)
	if err != nil {
		return 0, err
	}
	_, slow, err := restDocs(keys, snap)
	if err != nil || !slow.After(snap.Time) {
		return 0, err
	}
	var b state.Batch
	putPause(&b, p, pause(caps), slow, snap.Time)
	_, err = b.Commit(ctx, s)
	return pause(caps), err
}

func pause(caps core.Capabilities) time.Duration { return max(caps.EditRate, time.Second) }

// Rest tells all replicas of a wait, if that is what an error of Send or Edit asks for, and returns how long it is; 0: it is another error.
func Rest(ctx context.Context, s store.Store, p core.Place, failed error) (time.Duration, error) {
	var fault *core.SendError
	if !errors.As(failed, &fault) || fault.Fault != core.FaultRate {
		return 0, nil
	}
	snap, err := s.Get(ctx, restKeys(p)...)
	if err != nil {
		return after(fault), fmt.Errorf("read the time: %w", err)
	}
	var b state.Batch
	putRest(&b, p, fault, snap.Time)
	_, err = b.Commit(ctx, s)
	return after(fault), err
}

func after(fault *core.SendError) time.Duration { return max(fault.After, time.Second) }

// putRest adds to a batch what a platform said about a place.
func putRest(b *state.Batch, p core.Place, fault *core.SendError, now time.Time) {
	keys := restKeys(p)
	key := keys[0]
	if fault.Everywhere {
		key = keys[1]
	}
	until := now.Add(after(fault))
	b.Put(key, rest{Until: until, Slow: until.Add(slowFor)}, after(fault)+slowFor)
}

// putPause adds to a batch that a chat which has to be sent to slowly was sent to.
func putPause(b *state.Batch, p core.Place, pause time.Duration, slow, now time.Time) {
	if left := slow.Sub(now); left > 0 {
		b.Put(restKeys(p)[0], rest{Until: now.Add(pause), Slow: slow}, left)
	}
}
