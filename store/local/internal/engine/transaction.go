package engine

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"go.etcd.io/bbolt"

	"paragents/store"
)

// transaction applies batches within one write transaction of the file. A batch is decided first and written then, so that one that is
// refused leaves nothing behind for the others in the same transaction.
type transaction struct {
	*bbolt.Tx
	now      int64 // ms since the epoch
	sequence int64 // the last version or position that was given out
}

func begin(tx *bbolt.Tx, now int64) *transaction {
	return &transaction{Tx: tx, now: now}
}

func (t *transaction) load() (err error) {
	t.sequence, err = parseNumber(t.Bucket(bucketMeta).Get(metaSequence))
	return err
}

// finish writes what the next transaction begins with.
func (t *transaction) finish() error {
	meta := t.Bucket(bucketMeta)
	if err := meta.Put(metaClock, number(t.now)); err != nil {
		return err
	}
	return meta.Put(metaSequence, number(t.sequence))
}

func (t *transaction) next() int64 {
	t.sequence++
	return t.sequence
}

func (t *transaction) document(key store.Key) (document, error) {
	d, err := parseDocument(t.Bucket(bucketDocs).Get([]byte(key)))
	if err != nil {
		return document{}, fmt.Errorf("document %s: %w", key, err)
	}
	if !d.live(t.now) {
		return document{}, nil
	}
	return d, nil
}

// decide returns why the batch is refused, or the counters' new values. It writes nothing.
func (t *transaction) decide(b *store.Batch) ([]int64, error) {
	if f := b.Fence; f != nil {
		d, err := t.document(f.Key)
		if err != nil {
			return nil, err
		}
		if d.version == 0 || d.version != f.Version || d.holder != f.Holder {
			return nil, fmt.Errorf("%w: %s", store.ErrFenced, f.Key)
		}
	}
	for _, x := range b.Expect {
		d, err := t.document(x.Key)
		if err != nil {
			return nil, err
		}
		if d.version != x.Version {
			return nil, fmt.Errorf("%w: %s has version %d, not %d", store.ErrConflict, x.Key, d.version, x.Version)
		}
	}
	var counters []int64
	for _, a := range b.Add {
		n, err := t.counter(a)
		if err != nil {
			return nil, fmt.Errorf("add to %s: %w", a.Key, err)
		}
		counters = append(counters, n)
	}
	return counters, nil
}

func (t *transaction) counter(a store.Add) (int64, error) {
	d, err := t.document(a.Key)
	if err != nil || d.version == 0 {
		return a.Delta, err
	}
	n, err := strconv.ParseInt(string(d.value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the value is no counter: %w", err)
	}
	sum := n + a.Delta // does not overflow when n is in bounds: a.Delta is
	if max(n, -n, sum, -sum) > store.MaxCounter || n == math.MinInt64 {
		return 0, fmt.Errorf("the sum of %d and %d: %w", n, a.Delta, store.ErrTooLarge)
	}
	return sum, nil
}

// apply writes the batch. An error means that the file failed and the transaction must not be committed.
func (t *transaction) apply(b *store.Batch, counters []int64, owner bool) (store.Result, error) {
	r := store.Result{Time: moment(t.now), Version: t.next(), Counters: counters}
	for _, p := range b.Put {
		d := document{version: r.Version, holder: p.Holder, value: p.Value}
		if p.Expires > 0 {
			d.expires = t.now + max(1, p.Expires.Milliseconds())
		}
		if err := t.put(p.Key, d, owner); err != nil {
			return r, err
		}
	}
	for _, key := range b.Delete {
		if err := t.drop(key); err != nil {
			return r, err
		}
	}
	for _, i := range b.Insert {
		if i.FromNow {
			i.Score += float64(t.now)
		}
		if err := t.insert(i); err != nil {
			return r, err
		}
	}
	for _, m := range b.Remove {
		if err := t.remove(m.Index, m.Member); err != nil {
			return r, err
		}
	}
	for i, a := range b.Add {
		if err := t.count(a, counters[i], r.Version, owner); err != nil {
			return r, err
		}
	}
	for _, a := range b.Append {
		position := t.next()
		if err := t.Bucket(bucketLogs).Put(logKey(a.Log, position), a.Value); err != nil {
			return r, err
		}
		r.Positions = append(r.Positions, position)
	}
	for _, m := range b.Trim {
		if err := t.trim(m); err != nil {
			return r, err
		}
	}
	return r, t.remember(b.ID, r)
}

// put writes a document. When the owner of the file puts it with a holder and an expiry it is a lease that ends with the owner; one that
// another process put over the socket ends by itself, for that process may outlive the owner.
func (t *transaction) put(key store.Key, d document, owner bool) error {
	if err := t.unlink(key); err != nil {
		return err
	}
	if d.expires != 0 {
		if err := t.Bucket(bucketExpiry).Put(timed(d.expires, string(key)), nil); err != nil {
			return err
		}
		if d.holder != "" && owner {
			if err := t.Bucket(bucketLeases).Put([]byte(key), nil); err != nil {
				return err
			}
		}
	}
	return t.Bucket(bucketDocs).Put([]byte(key), d.encode())
}

func (t *transaction) drop(key store.Key) error {
	if err := t.unlink(key); err != nil {
		return err
	}
	return t.Bucket(bucketDocs).Delete([]byte(key))
}

// unlink takes what points to a document, live or expired, out of the buckets beside it.
func (t *transaction) unlink(key store.Key) error {
	d, err := parseDocument(t.Bucket(bucketDocs).Get([]byte(key)))
	if err != nil || d.expires == 0 {
		return err
	}
	if err := t.Bucket(bucketExpiry).Delete(timed(d.expires, string(key))); err != nil {
		return err
	}
	if d.holder == "" {
		return nil
	}
	return t.Bucket(bucketLeases).Delete([]byte(key))
}

// count writes a counter; one that exists keeps its expiry.
func (t *transaction) count(a store.Add, value, version int64, owner bool) error {
	d, err := t.document(a.Key)
	if err != nil {
		return err
	}
	if d.version == 0 && a.Expires > 0 {
		d.expires = t.now + max(1, a.Expires.Milliseconds())
	}
	d.version, d.value = version, strconv.AppendInt(nil, value, 10)
	return t.put(a.Key, d, owner)
}

func (t *transaction) insert(i store.Insert) error {
	key := memberKey(i.Index, i.Member)
	old := t.Bucket(bucketMembers).Get(key)
	if old == nil {
		if err := t.total(i.Index, 1); err != nil {
			return err
		}
	} else if err := t.unorder(i.Index, i.Member, old); err != nil {
		return err
	}
	if err := t.Bucket(bucketMembers).Put(key, number(int64(math.Float64bits(i.Score)))); err != nil {
		return err
	}
	return t.Bucket(bucketOrder).Put(orderKey(i.Index, i.Score, i.Member), nil)
}

func (t *transaction) remove(index store.Index, member string) error {
	key := memberKey(index, member)
	old := t.Bucket(bucketMembers).Get(key)
	if old == nil {
		return nil
	}
	if err := t.unorder(index, member, old); err != nil {
		return err
	}
	if err := t.total(index, -1); err != nil {
		return err
	}
	return t.Bucket(bucketMembers).Delete(key)
}

func (t *transaction) unorder(index store.Index, member string, score []byte) error {
	bits, err := parseNumber(score)
	if err != nil {
		return err
	}
	return t.Bucket(bucketOrder).Delete(orderKey(index, math.Float64frombits(uint64(bits)), member))
}

func (t *transaction) total(index store.Index, delta int64) error {
	totals, key := t.Bucket(bucketTotals), prefixed(string(index), 0)
	n, err := parseNumber(totals.Get(key))
	if err != nil {
		return err
	}
	if n += delta; n == 0 {
		return totals.Delete(key)
	}
	return totals.Put(key, number(n))
}

func (t *transaction) trim(m store.Trim) error {
	logs, prefix := t.Bucket(bucketLogs), prefixed(string(m.Log), 0)
	end := successor(prefix)
	if m.Before < math.MaxInt64 {
		end = logKey(m.Log, max(m.Before, 0))
	}
	var keys [][]byte // a cursor loses its place when something is deleted
	c := logs.Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.Compare(k, end) < 0; k, _ = c.Next() {
		keys = append(keys, k)
	}
	for _, k := range keys {
		if err := logs.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
