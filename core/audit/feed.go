package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"paragents/core/state"
	"paragents/store"
)

// Sink keeps entries outside the store. It is given lines of JSON, one an entry, oldest first, and returns when they are kept; after an error it is given them again.
type Sink func(ctx context.Context, lines []byte) error

// line is an entry as a sink gets it. An entry that comes twice has the same position.
type line struct {
	Position int64 `json:"position"`
	Entry
}

// fed is how far the log was handed to the sink.
type fed struct {
	Next int64 `json:"next"` // first position that was not
}

// Feed looks for new entries every so often.
const (
	feedEvery = 2 * time.Second
	feedRest  = time.Minute // between two tries while the sink fails, at most
	feedLimit = 30 * time.Second
)

// Feed hands every entry of the log to a sink, from where the deployment's last Feed stopped, until the context ends. It is for one replica at a time. An entry comes twice if the
// process dies before it has noted that the sink has it, and is not missed: while the sink fails, entries wait in the log.
func Feed(ctx context.Context, s store.Store, to Sink, log *slog.Logger) {
	wait := feedEvery
	for {
		more, err := feed(ctx, s, to)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = min(2*wait, feedRest)
			log.Warn("cannot hand audit entries to audit.sink; they wait in the store, trying again", "in", wait, "error", err)
		case more:
			continue
		default:
			wait = feedEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// feed hands on one page, and reports whether there may be more.
func feed(ctx context.Context, s store.Store, to Sink) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, feedLimit)
	defer cancel()
	at, _, err := state.Get[fed](ctx, s, state.FedKey)
	if err != nil {
		return false, err
	}
	records, err := s.Read(ctx, state.Audit, at.Value.Next, 0)
	if err != nil || len(records) == 0 {
		return false, err
	}
	var out bytes.Buffer
	for _, r := range records {
		l := line{Position: r.Position}
		if err := json.Unmarshal(r.Value, &l.Entry); err != nil {
			return false, fmt.Errorf("read audit log at %d: %w", r.Position, err)
		}
		text, err := json.Marshal(l)
		if err != nil {
			return false, fmt.Errorf("write audit entry %d: %w", r.Position, err)
		}
		out.Write(append(text, '\n'))
	}
	if err := to(ctx, out.Bytes()); err != nil {
		return false, err
	}
	var b state.Batch
	b.Update(state.FedKey, at.Version, fed{Next: records[len(records)-1].Position + 1})
	if _, err := b.Commit(ctx, s); err != nil {
		return false, fmt.Errorf("note what the sink has: %w", err)
	}
	return len(records) == store.MaxScan, nil
}
