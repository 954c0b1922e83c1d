package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"paragents/store"
)

var errReply = errors.New("redis gave an answer of another form: is another version of Paragents at work in it?")

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, keys ...store.Key) (store.Snapshot, error) {
	fail := func(err error) (store.Snapshot, error) {
		return store.Snapshot{}, fmt.Errorf("get %s: %w", some(keys), err)
	}
	if len(keys) > store.MaxOps {
		return fail(store.ErrTooLarge)
	}
	names := make([]string, 1, 1+len(keys))
	names[0] = s.keys.counter()
	for _, key := range keys {
		names = append(names, s.keys.doc(key))
	}
	reply, err := ask(ctx, s, func(ctx context.Context) ([]any, error) {
		return s.scripts.get.RunRO(ctx, s.client, names).Slice()
	})
	if err != nil {
		return fail(err)
	}
	snap, ok := decodeSnapshot(reply, len(keys))
	if !ok {
		return fail(errReply)
	}
	return snap, nil
}

// some names the keys of a call for its error.
func some(keys []store.Key) string {
	switch len(keys) {
	case 0:
		return "the time"
	case 1:
		return strconv.Quote(string(keys[0]))
	}
	return fmt.Sprintf("%q and %d more", string(keys[0]), len(keys)-1)
}

func decodeSnapshot(reply []any, n int) (store.Snapshot, bool) {
	if len(reply) != n+1 {
		return store.Snapshot{}, false
	}
	now, ok := reply[0].(int64)
	snap := store.Snapshot{Time: time.UnixMilli(now), Docs: make([]store.Doc, n)}
	for i, r := range reply[1:] {
		if r == nil {
			continue
		}
		fields, _ := r.([]any)
		if len(fields) != 3 {
			return store.Snapshot{}, false
		}
		value, ok1 := fields[0].(string)
		version, ok2 := fields[1].(string)
		holder, ok3 := fields[2].(string)
		number, err := strconv.ParseInt(version, 10, 64)
		ok = ok && ok1 && ok2 && ok3 && err == nil
		snap.Docs[i] = store.Doc{Value: []byte(value), Version: number, Holder: holder}
	}
	return snap, ok
}

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, index store.Index, r store.Range) (store.Page, error) {
	args := []any{atMost(r.Limit), r.Reverse, r.Due}
	if r.After != nil {
		args = append(args, score(r.After.Score), r.After.Member)
	}
	reply, err := ask(ctx, s, func(ctx context.Context) ([]any, error) {
		return s.scripts.scan.RunRO(ctx, s.client, []string{s.keys.index(index)}, args...).Slice()
	})
	if err != nil {
		return store.Page{}, fmt.Errorf("scan index %q: %w", index, err)
	}
	page, ok := decodePage(reply)
	if !ok {
		return store.Page{}, fmt.Errorf("scan index %q: %w", index, errReply)
	}
	if r.Reverse {
		slices.Reverse(page.Entries)
	}
	return page, nil
}

func decodePage(reply []any) (store.Page, bool) {
	if len(reply) != 3 {
		return store.Page{}, false
	}
	now, ok1 := reply[0].(int64)
	total, ok2 := reply[1].(int64)
	flat, ok3 := reply[2].([]any)
	ok := ok1 && ok2 && ok3 && len(flat)%2 == 0
	page := store.Page{Time: time.UnixMilli(now), Total: total}
	for i := 0; ok && i < len(flat); i += 2 {
		member, _ := flat[i].(string)
		text, _ := flat[i+1].(string)
		number, err := strconv.ParseFloat(text, 64)
		ok = err == nil
		page.Entries = append(page.Entries, store.Entry{Member: member, Score: number})
	}
	return page, ok
}

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, log store.Log, from int64, limit int) ([]store.Record, error) {
	messages, err := ask(ctx, s, func(ctx context.Context) ([]redis.XMessage, error) {
		return s.client.XRangeN(ctx, s.keys.log(log), streamID(from), "+", int64(atMost(limit))).Result()
	})
	if err != nil {
		return nil, fmt.Errorf("read log %q: %w", log, err)
	}
	records := make([]store.Record, 0, len(messages))
	for _, m := range messages {
		text, _, _ := strings.Cut(m.ID, "-")
		position, err := strconv.ParseInt(text, 10, 64)
		value, ok := m.Values["value"].(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("read log %q: %w", log, errReply)
		}
		records = append(records, store.Record{Position: position, Value: []byte(value)})
	}
	return records, nil
}

// atMost is the limit of a page.
func atMost(limit int) int {
	if limit <= 0 || limit > store.MaxScan {
		return store.MaxScan
	}
	return limit
}

// streamID is the place of a log's position in its stream.
func streamID(position int64) string { return strconv.FormatInt(max(position, 0), 10) + "-0" }

// score writes a number so that Redis reads the same one.
func score(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
