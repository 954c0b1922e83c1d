package engine

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"time"

	"go.etcd.io/bbolt"

	"paragents/store"
)

func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Get is the contract's.
func (e *Engine) Get(ctx context.Context, keys ...store.Key) (store.Snapshot, error) {
	if len(keys) > store.MaxOps {
		return store.Snapshot{}, fmt.Errorf("get %d documents: %w", len(keys), store.ErrTooLarge)
	}
	s := store.Snapshot{Docs: make([]store.Doc, len(keys))}
	err := e.view(ctx, func(tx *bbolt.Tx) error {
		docs, now := tx.Bucket(bucketDocs), e.clock.now()
		s.Time = moment(now)
		for i, key := range keys {
			d, err := parseDocument(docs.Get([]byte(key)))
			if err != nil {
				return fmt.Errorf("document %s: %w", key, err)
			}
			if d.live(now) {
				s.Docs[i] = store.Doc{Value: bytes.Clone(d.value), Version: d.version, Holder: d.holder}
			}
		}
		return nil
	})
	if err != nil {
		return store.Snapshot{}, fmt.Errorf("get documents: %w", err)
	}
	return s, nil
}

// Scan is the contract's.
func (e *Engine) Scan(ctx context.Context, index store.Index, r store.Range) (store.Page, error) {
	if r.Limit <= 0 || r.Limit > store.MaxScan {
		r.Limit = store.MaxScan
	}
	var page store.Page
	err := e.view(ctx, func(tx *bbolt.Tx) error {
		now := e.clock.now()
		page.Time = moment(now)
		var err error
		if page.Total, err = parseNumber(tx.Bucket(bucketTotals).Get(prefixed(string(index), 0))); err != nil {
			return err
		}
		page.Entries, err = entries(tx.Bucket(bucketOrder).Cursor(), index, r, now)
		return err
	})
	if err != nil {
		return store.Page{}, fmt.Errorf("scan index %s: %w", index, err)
	}
	return page, nil
}

// entries walks the order of an index between two keys, both excluded.
func entries(c *bbolt.Cursor, index store.Index, r store.Range, now int64) ([]store.Entry, error) {
	prefix := prefixed(string(index), 0)
	low, high := prefix, successor(prefix)
	if r.Due {
		high = orderKey(index, math.Nextafter(float64(now), math.Inf(1)), "")
	}
	var key []byte
	step := c.Next
	if r.Reverse {
		if r.After != nil {
			if after := orderKey(index, r.After.Score, r.After.Member); bytes.Compare(after, high) < 0 {
				high = after
			}
		}
		step = c.Prev
		if key, _ = c.Seek(high); key == nil {
			key, _ = c.Last()
		} else {
			key, _ = c.Prev()
		}
	} else {
		if r.After != nil {
			low = orderKey(index, r.After.Score, r.After.Member)
		}
		if key, _ = c.Seek(low); bytes.Equal(key, low) {
			key, _ = c.Next()
		}
	}
	var found []store.Entry
	for ; len(found) < r.Limit && bytes.Compare(key, low) > 0 && bytes.Compare(key, high) < 0; key, _ = step() {
		if !bytes.HasPrefix(key, prefix) {
			break
		}
		entry, err := parseOrder(key[len(prefix):])
		if err != nil {
			return nil, err
		}
		found = append(found, entry)
	}
	return found, nil
}

// Read is the contract's.
func (e *Engine) Read(ctx context.Context, log store.Log, from int64, limit int) ([]store.Record, error) {
	if limit <= 0 || limit > store.MaxScan {
		limit = store.MaxScan
	}
	var records []store.Record
	err := e.view(ctx, func(tx *bbolt.Tx) error {
		c, prefix := tx.Bucket(bucketLogs).Cursor(), prefixed(string(log), 0)
		for k, v := c.Seek(logKey(log, max(from, 0))); len(records) < limit && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			position, err := parseNumber(k[len(prefix):])
			if err != nil {
				return err
			}
			records = append(records, store.Record{Position: position, Value: bytes.Clone(v)})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", log, err)
	}
	return records, nil
}
