package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"paragents/core"
)

const (
	page     = 200 // messages a question for history
	maxPages = 5   // questions; with page, the messages that are looked at
)

// CatchUp implements core.Catcher. It looks at 1,000 messages at most, the oldest of a thread and the newest of a channel, and at a channel's without those
// in its threads. A zero time means from the beginning. What the bot wrote is left out.
func (a *Adapter) CatchUp(ctx context.Context, p core.Place, since time.Time) ([]core.Inbound, error) {
	if err := checkPlace(p); err != nil {
		return nil, err
	}
	me, err := a.self(ctx)
	if err != nil {
		return nil, err
	}
	list, err := a.history(ctx, p, since)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(x, y message) int { return at(x.TS).Compare(at(y.TS)) })
	d := decoder{me: me, ours: a.ours}
	var out []core.Inbound
	for _, m := range list {
		m.Channel, m.Type = p.Channel, "message"
		if !at(m.TS).After(since) { // a thread's first message comes always
			continue
		}
		if e, ok := d.written(m); ok {
			if e.Person != "" {
				e.Name = a.name(ctx, e.Person)
			}
			out = append(out, e)
		}
	}
	return out, nil
}

// History implements core.Historian. A message at the top of a channel has nothing before it. It looks at the first 1,000 messages of a thread.
func (a *Adapter) History(ctx context.Context, p core.Place, before string, n int) ([]core.Inbound, bool, error) {
	if p.Thread == before {
		return nil, false, nil
	}
	list, err := a.CatchUp(ctx, p, time.Time{})
	if err != nil {
		return nil, false, err
	}
	list = slices.DeleteFunc(list, func(e core.Inbound) bool { return !e.At.Before(at(before)) })
	from := max(0, len(list)-n)
	return list[from:], from > 0, nil
}

// history reads what stands at a place since a time, in no particular order.
func (a *Adapter) history(ctx context.Context, p core.Place, since time.Time) ([]message, error) {
	method, args := "conversations.history", url.Values{"channel": {p.Channel}, "limit": {strconv.Itoa(page)}, "include_all_metadata": {"true"}}
	if p.Thread != "" {
		method = "conversations.replies"
		args.Set("ts", p.Thread)
	}
	if !since.IsZero() {
		args.Set("oldest", stamp(since))
	}
	var out []message
	for range maxPages {
		var answer struct {
			Messages []json.RawMessage `json:"messages"`
			Metadata struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		err := a.call(ctx, "read "+p.Channel, callWait, true, func(ctx context.Context) error { return a.read(ctx, method, args, &answer) })
		if err != nil {
			return nil, err
		}
		for _, raw := range answer.Messages {
			var m message
			if err := json.Unmarshal(raw, &m); err != nil {
				a.log.Warn("slack message skipped: not of the known form", "platform", platform, "channel", p.Channel, "error", err)
				continue
			}
			out = append(out, m)
		}
		if answer.Metadata.Cursor == "" {
			break
		}
		args.Set("cursor", answer.Metadata.Cursor)
	}
	return out, nil
}

// stamp writes a time as the platform does.
func stamp(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }

// Called implements core.Namer.
func (a *Adapter) Called(ctx context.Context, p core.Person) string {
	if name := a.name(ctx, p); name != p.ID() {
		return name
	}
	return ""
}
