package reader

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"paragents/core"
	"paragents/store"
)

// Memory has the transcripts that were read through it lately, so that of one only what has come since is read. What it has of a session is trusted only while the store still has
// the last record of it, to the letter and at its place: a store that fell back to an earlier state has another one there, or none.
type Memory struct {
	reader *Reader
	most   int

	mu   sync.Mutex
	kept map[core.SessionID]remembered
	size int    // of all that is kept
	uses uint64 // that there have been
}

// remembered is a transcript as it was read.
type remembered struct {
	records []core.Record
	last    store.Record
	size    int    // in bytes, as stored
	used    uint64 // the last time
}

// NewMemory makes a memory that keeps at most so many bytes, as stored.
func NewMemory(r *Reader, most int) *Memory {
	return &Memory{reader: r, most: most, kept: make(map[core.SessionID]remembered)}
}

// Transcript reads a session's records, oldest first, which nobody may change.
func (m *Memory) Transcript(ctx context.Context, id core.SessionID) ([]core.Record, error) {
	k := m.take(id)
	raw, err := m.reader.log(ctx, id, k.last.Position)
	if err != nil {
		return nil, err
	}
	if len(k.records) > 0 {
		if len(raw) > 0 && raw[0].Position == k.last.Position && bytes.Equal(raw[0].Value, k.last.Value) {
			raw = raw[1:]
		} else {
			k = remembered{}
			if raw, err = m.reader.log(ctx, id, 0); err != nil {
				return nil, err
			}
		}
	}
	if k.records, err = decode(k.records, raw); err != nil {
		return nil, err
	}
	for _, r := range raw {
		k.size += len(r.Value)
		k.last = r
	}
	m.keep(id, k)
	return slices.Clip(k.records), nil
}

// take is what is kept of a session, for one reader alone.
func (m *Memory) take(id core.SessionID) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kept[id]
	m.drop(id)
	return k
}

// keep gives back what was taken. What was not used for longest goes when there is too much.
func (m *Memory) keep(id core.SessionID, k remembered) {
	if len(k.records) == 0 || k.size > m.most/4 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(id)
	m.uses++
	k.used = m.uses
	m.kept[id] = k
	m.size += k.size
	for m.size > m.most {
		oldest := id
		for other, o := range m.kept {
			if o.used < m.kept[oldest].used {
				oldest = other
			}
		}
		m.drop(oldest)
	}
}

func (m *Memory) drop(id core.SessionID) {
	m.size -= m.kept[id].size
	delete(m.kept, id)
}
