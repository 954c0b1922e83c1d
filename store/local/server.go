package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"paragents/store"
	"paragents/store/local/internal/engine"
)

const (
	maxLinks   = 64 // connected processes
	maxPending = 64 // requests of one connection that are worked on at the same time; further ones wait in the socket
)

// server answers the processes that found the file locked.
type server struct {
	path     string
	listener *net.UnixListener
	engine   *engine.Engine
	hub      *hub
	logger   *slog.Logger

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	slots  chan struct{}
	all    sync.WaitGroup
}

// serve begins to listen on the socket beside the file, whose lock the engine holds.
func serve(path string, e *engine.Engine, h *hub, logger *slog.Logger) (*server, error) {
	s := &server{path: socketPath(path), engine: e, hub: h, logger: logger, slots: make(chan struct{}, maxLinks)}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", s.path, err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.all.Go(s.accept)
	return s, nil
}

func (s *server) listen() error {
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) { // an earlier holder's, who is dead
		return err
	}
	name, done, err := short(s.path)
	if err != nil {
		return err
	}
	defer done()
	if s.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"}); err != nil {
		return err
	}
	s.listener.SetUnlinkOnClose(false) // close removes it by its own name
	if err := os.Chmod(s.path, 0o600); err != nil {
		_ = s.listener.Close()
		return err
	}
	return nil
}

// close ends all connections and what is worked on for them.
func (s *server) close() {
	s.cancel()
	_ = os.Remove(s.path)
	_ = s.listener.Close()
	s.all.Wait()
}

func (s *server) accept() {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		conn, err := s.listener.AcceptUnix()
		if err == nil {
			s.all.Go(func() {
				defer func() { <-s.slots }()
				s.talk(conn)
			})
			continue
		}
		<-s.slots
		if s.ctx.Err() != nil {
			return
		}
		s.logger.Error("accept on the store's socket", "path", s.path, "err", err)
		select { // out of file descriptors, as a rule
		case <-time.After(100 * time.Millisecond):
		case <-s.ctx.Done():
			return
		}
	}
}

// talk serves one connection to its end.
func (s *server) talk(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	l, err := greet(conn)
	if err != nil {
		s.logger.Warn("refuse a connection to the store", "path", s.path, "err", err)
		return
	}
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	bells := s.hub.add()
	defer s.hub.remove(bells)
	working.Go(func() {
		for n := range bells.rings {
			if l.send(answer{Ring: n}) != nil {
				cancel()
			}
		}
	})
	pending := make(chan struct{}, maxPending)
	for {
		var q request
		if err := l.receive(&q); err != nil {
			return
		}
		if q.Kind == kindWatch { // here, so that a later one replaces an earlier one
			s.hub.replace(bells, q.Topics)
			if l.send(answer{ID: q.ID}) != nil {
				return
			}
			continue
		}
		pending <- struct{}{}
		working.Go(func() {
			defer func() { <-pending }()
			if s.handle(ctx, l, q) != nil {
				cancel()
			}
		})
	}
}

// handle answers one request. An error ends the connection.
func (s *server) handle(connected context.Context, l *link, q request) error {
	ctx, cancel := context.WithTimeout(connected, q.Timeout)
	defer cancel()
	a := answer{ID: q.ID}
	var err error
	switch q.Kind {
	case kindGet:
		var snap store.Snapshot
		snap, err = s.engine.Get(ctx, q.Keys...)
		a.Time, a.Docs = snap.Time, snap.Docs
	case kindCommit:
		a.Result, err = s.engine.Commit(ctx, q.Batch, false)
	case kindScan:
		a.Page, err = s.engine.Scan(ctx, q.Index, q.Range)
	case kindRead:
		a.Records, err = s.engine.Read(ctx, q.Log, q.From, q.Limit)
	default:
		err = fmt.Errorf("request of unknown kind %d", q.Kind)
	}
	if connected.Err() != nil { // the client asks the next holder
		return connected.Err()
	}
	if err != nil {
		return l.send(answer{ID: q.ID, Code: codeOf(err), Text: err.Error()})
	}
	for {
		part, rest, more := split(a)
		if err := l.send(part); err != nil || !more {
			return err
		}
		a = rest
	}
}

// split cuts an answer behind the value that fills a frame.
func split(a answer) (part, rest answer, more bool) {
	size := 0
	for i, d := range a.Docs {
		if size += len(d.Value); size > maxPart && i+1 < len(a.Docs) {
			part, rest = a, answer{ID: a.ID, Docs: a.Docs[i+1:]}
			part.Docs, part.More = a.Docs[:i+1], true
			return part, rest, true
		}
	}
	for i, r := range a.Records {
		if size += len(r.Value); size > maxPart && i+1 < len(a.Records) {
			part, rest = a, answer{ID: a.ID, Records: a.Records[i+1:]}
			part.Records, part.More = a.Records[:i+1], true
			return part, rest, true
		}
	}
	return a, answer{}, false
}
