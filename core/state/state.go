// Package state gives the documents of the store their types and all keys their names: how a noun of the core is written down.
package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"paragents/store"
)

// Schema is the version that documents are written with. An older one is upgraded when it is read; a newer one is left alone.
const Schema = 1

// ErrNewer: a document was written by a newer version of the program. It is not touched; the newer replicas serve it.
var ErrNewer = errors.New("written by a newer version; update this replica")

// Doc is a document with its version in the store. Version 0: there is none.
type Doc[T any] struct {
	Value   T
	Version int64
	Holder  string
}

// Exists reports whether there is a document.
func (d Doc[T]) Exists() bool { return d.Version != 0 }

// present begins every document that this version writes with something in it.
var present = fmt.Appendf(nil, `{"schema_version":%d,`, Schema)

// Decode reads a document.
func Decode[T any](key store.Key, d store.Doc) (Doc[T], error) {
	out := Doc[T]{Version: d.Version, Holder: d.Holder}
	if d.Version == 0 {
		return out, nil
	}
	if !bytes.HasPrefix(d.Value, present) { // what this version wrote need not be read twice
		var head struct {
			Schema int `json:"schema_version"`
		}
		if err := json.Unmarshal(d.Value, &head); err != nil {
			return out, fmt.Errorf("read document %s: %w", key, err)
		}
		if head.Schema > Schema {
			return out, fmt.Errorf("read document %s of schema %d: %w", key, head.Schema, ErrNewer)
		}
	}
	if err := json.Unmarshal(d.Value, &out.Value); err != nil {
		return out, fmt.Errorf("read document %s: %w", key, err)
	}
	return out, nil
}

// Encode writes a value as a document: a JSON object that begins with its schema_version.
func Encode(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write document: %w", err)
	}
	if !bytes.HasPrefix(raw, []byte("{")) {
		return nil, fmt.Errorf("write document: %T is no JSON object", v)
	}
	head := fmt.Sprintf(`{"schema_version":%d`, Schema)
	if len(raw) > 2 {
		head += ","
	}
	return append([]byte(head), raw[1:]...), nil
}

// Get reads one document and the store's time.
func Get[T any](ctx context.Context, s store.Store, key store.Key) (Doc[T], time.Time, error) {
	snap, err := s.Get(ctx, key)
	if err != nil {
		return Doc[T]{}, time.Time{}, err
	}
	d, err := Decode[T](key, snap.Docs[0])
	return d, snap.Time, err
}

// GetAll reads documents of one type at one moment. Those that do not exist are among them with Version 0; one that cannot be read is
// an error.
func GetAll[T any](ctx context.Context, s store.Store, keys []store.Key) ([]Doc[T], time.Time, error) {
	if len(keys) == 0 {
		return nil, time.Time{}, nil
	}
	snap, err := s.Get(ctx, keys...)
	if err != nil {
		return nil, time.Time{}, err
	}
	out := make([]Doc[T], len(keys))
	for i, d := range snap.Docs {
		if out[i], err = Decode[T](keys[i], d); err != nil {
			return nil, time.Time{}, err
		}
	}
	return out, snap.Time, nil
}

// Doubt says that whoever sent a session's letters died: of the letter at Position, the first message that is not recorded as sent may have been sent.
type Doubt struct {
	Position int64 `json:"position"`
}

// Batch builds a store.Batch from typed documents. The first error sticks and is returned by Commit.
type Batch struct {
	store.Batch
	err error
}

// Put writes a document unconditionally.
func (b *Batch) Put(key store.Key, v any, expires time.Duration) {
	raw, err := Encode(v)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	b.Batch.Put = append(b.Batch.Put, store.Put{Key: key, Value: raw, Expires: expires})
}

// Hold writes a claim or lease of a holder.
func (b *Batch) Hold(key store.Key, v any, holder string, expires time.Duration) {
	b.Put(key, v, expires)
	if n := len(b.Batch.Put); n > 0 && b.Batch.Put[n-1].Key == key {
		b.Batch.Put[n-1].Holder = holder
	}
}

// Expect makes the batch depend on a document's version.
func (b *Batch) Expect(key store.Key, version int64) {
	b.Batch.Expect = append(b.Batch.Expect, store.Expect{Key: key, Version: version})
}

// Update writes a document if it still has the version that was read.
func (b *Batch) Update(key store.Key, version int64, v any) {
	b.Expect(key, version)
	b.Put(key, v, 0)
}

// Append writes a record at the end of a log.
func (b *Batch) Append(log store.Log, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("write record of %s: %w", log, err))
		return
	}
	b.Batch.Append = append(b.Batch.Append, store.Append{Log: log, Value: raw})
}

// InsertNow adds an index entry scored by the store's time of the commit plus a delay.
func (b *Batch) InsertNow(index store.Index, member string, after time.Duration) {
	b.Insert = append(b.Insert, store.Insert{Index: index, Member: member, Score: float64(after.Milliseconds()), FromNow: true})
}

// Remove takes an entry out of an index.
func (b *Batch) RemoveFrom(index store.Index, member string) {
	b.Batch.Remove = append(b.Batch.Remove, store.Remove{Index: index, Member: member})
}

// Ring notifies a topic after the commit.
func (b *Batch) Ring(topic store.Topic, payload string) {
	b.Notify = append(b.Notify, store.Notify{Topic: topic, Payload: []byte(payload)})
}

// Commit applies the batch.
func (b *Batch) Commit(ctx context.Context, s store.Store) (store.Result, error) {
	if b.err != nil {
		return store.Result{}, b.err
	}
	return s.Commit(ctx, b.Batch)
}
