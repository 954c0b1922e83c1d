package engine

import (
	"go.etcd.io/bbolt"

	"paragents/store"
)

// remember notes a batch's result under its id.
func (t *transaction) remember(id string, r store.Result) error {
	if id == "" {
		return nil
	}
	if err := t.Bucket(bucketAges).Put(timed(t.now, id), nil); err != nil {
		return err
	}
	return t.Bucket(bucketBatches).Put([]byte(id), encodeResult(r))
}

// repeated returns the result of a batch that was applied before.
func (t *transaction) repeated(id string) (r store.Result, found bool, err error) {
	if id == "" {
		return r, false, nil
	}
	kept := t.Bucket(bucketBatches).Get([]byte(id))
	if kept == nil {
		return r, false, nil
	}
	if r, err = parseResult(kept); err != nil {
		return r, false, err
	}
	r.Repeated = true
	return r, true, nil
}

func (t *transaction) forget(id string) error {
	batches := t.Bucket(bucketBatches)
	kept := batches.Get([]byte(id))
	if kept == nil {
		return nil
	}
	r, err := parseResult(kept)
	if err != nil {
		return err
	}
	if err := t.Bucket(bucketAges).Delete(timed(r.Time.UnixMilli(), id)); err != nil {
		return err
	}
	return batches.Delete([]byte(id))
}

// endLeases drops the leases of the owners before this one.
func (t *transaction) endLeases() error {
	var keys []store.Key
	c := t.Bucket(bucketLeases).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		keys = append(keys, store.Key(k))
	}
	for _, key := range keys {
		if err := t.drop(key); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes at most limit expired documents and as many old batch ids, and says how many it found.
func (t *transaction) sweep(limit int) (int, error) {
	expired, err := due(t.Bucket(bucketExpiry), t.now, limit)
	if err != nil {
		return 0, err
	}
	for _, key := range expired {
		if err := t.drop(store.Key(key)); err != nil {
			return 0, err
		}
	}
	old, err := due(t.Bucket(bucketAges), t.now-store.BatchKept.Milliseconds()-1, limit)
	if err != nil {
		return 0, err
	}
	for _, id := range old {
		if err := t.forget(id); err != nil {
			return 0, err
		}
	}
	return len(expired) + len(old), nil
}

// due returns the first names of a bucket of timed keys whose time is not after the given one.
func due(b *bbolt.Bucket, until int64, limit int) ([]string, error) {
	var names []string
	c := b.Cursor()
	for k, _ := c.First(); k != nil && len(names) < limit; k, _ = c.Next() {
		ms, name, err := parseTimed(k)
		if err != nil {
			return nil, err
		}
		if ms > until {
			break
		}
		names = append(names, name)
	}
	return names, nil
}
