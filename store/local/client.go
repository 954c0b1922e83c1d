package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"paragents/store"
)

// lostError says that the connection ended before the answer came.
type lostError struct {
	sent  bool // the request may have reached the holder
	cause error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("connection to the store's holder: %v", e.cause)
}
func (e *lostError) Unwrap() error { return e.cause }

var errHolderClosed = errors.New("the holder closes the store")

// client speaks to the process that holds the file.
type client struct {
	link *link
	hub  *hub
	out  chan *call
	lost chan struct{} // closed when the connection has ended
	all  sync.WaitGroup

	mu    sync.Mutex
	calls map[uint64]*call // nil when the connection has ended
	last  uint64
	cause error
}

// call is a request and the way back of its answer.
type call struct {
	request request
	whole   answer
	done    chan struct{} // closed when whole is
}

// dial connects to the holder and hears for the hub from then on.
func dial(ctx context.Context, path string, h *hub) (*client, error) {
	name, done, err := short(socketPath(path))
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", name)
	done()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	l, err := greet(conn.(*net.UnixConn))
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	c := &client{link: l, hub: h, out: make(chan *call), lost: make(chan struct{}), calls: make(map[uint64]*call)}
	c.all.Go(c.send)
	c.all.Go(c.receive)
	if err := c.watch(ctx); err != nil {
		_ = c.close()
		return nil, err
	}
	return c, nil
}

func (c *client) gone() <-chan struct{} { return c.lost }

func (c *client) close() error {
	c.fail(net.ErrClosed)
	c.all.Wait()
	return nil
}

// fail ends the connection; the first cause is kept.
func (c *client) fail(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls != nil {
		c.calls, c.cause = nil, cause
		close(c.lost)
		_ = c.link.conn.Close()
	}
}

func (c *client) send() {
	for {
		select {
		case <-c.lost:
			return
		case k := <-c.out:
			if k.request.Kind == kindWatch { // only now, so that the topics of a later request are never older
				k.request.Topics = c.hub.wanted()
			}
			if err := c.link.send(&k.request); err != nil {
				c.fail(err)
				return
			}
		}
	}
}

func (c *client) receive() {
	for {
		var a answer
		if err := c.link.receive(&a); err != nil {
			c.fail(err)
			return
		}
		if a.ID == 0 {
			c.hub.ring([]store.Notify{{Topic: a.Ring.Topic, Payload: a.Ring.Payload}})
			continue
		}
		c.mu.Lock()
		k := c.calls[a.ID]
		if k != nil && !a.More {
			delete(c.calls, a.ID)
		}
		c.mu.Unlock()
		if k == nil { // the caller has gone
			continue
		}
		a.Docs, a.Records = append(k.whole.Docs, a.Docs...), append(k.whole.Records, a.Records...)
		if !k.whole.Time.IsZero() {
			a.Time = k.whole.Time
		}
		k.whole = a
		if !a.More {
			close(k.done)
		}
	}
}

// do sends a request and waits for its answer. The error is a *lostError, a *remoteError or the context's; sent says whether the request
// may have reached the holder.
func (c *client) do(ctx context.Context, q request) (a answer, sent bool, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		q.Timeout = time.Until(deadline)
	}
	k := &call{request: q, done: make(chan struct{})}
	c.mu.Lock()
	if c.calls == nil {
		defer c.mu.Unlock()
		return answer{}, false, &lostError{cause: c.cause}
	}
	c.last++
	k.request.ID = c.last
	c.calls[c.last] = k
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, k.request.ID)
	}()

	out := c.out
	for {
		select {
		case out <- k:
			out, sent = nil, true
		case <-k.done:
			return c.answered(k)
		case <-c.lost:
			select {
			case <-k.done: // it came just before
				return c.answered(k)
			default:
			}
			return answer{}, sent, &lostError{sent: sent, cause: c.cause}
		case <-ctx.Done():
			return answer{}, sent, ctx.Err()
		}
	}
}

func (c *client) answered(k *call) (answer, bool, error) {
	switch a := k.whole; a.Code {
	case codeNone:
		return a, true, nil
	case codeClosed: // certain: it did nothing
		c.fail(errHolderClosed)
		return answer{}, false, &lostError{cause: errHolderClosed}
	default:
		return answer{}, true, &remoteError{code: a.Code, text: a.Text}
	}
}

func (c *client) get(ctx context.Context, keys []store.Key) (store.Snapshot, error) {
	a, _, err := c.do(ctx, request{Kind: kindGet, Keys: slices.Clone(keys)})
	return store.Snapshot{Time: a.Time, Docs: a.Docs}, err
}

func (c *client) commit(ctx context.Context, b store.Batch) (store.Result, error) {
	a, sent, err := c.do(ctx, request{Kind: kindCommit, Batch: b})
	if sent && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return a.Result, err
}

func (c *client) scan(ctx context.Context, index store.Index, r store.Range) (store.Page, error) {
	if r.After != nil { // the caller's, who may be gone before it is sent
		after := *r.After
		r.After = &after
	}
	a, _, err := c.do(ctx, request{Kind: kindScan, Index: index, Range: r})
	return a.Page, err
}

func (c *client) read(ctx context.Context, log store.Log, from int64, limit int) ([]store.Record, error) {
	a, _, err := c.do(ctx, request{Kind: kindRead, Log: log, From: from, Limit: limit})
	return a.Records, err
}

// watch tells the holder which topics are wanted now.
func (c *client) watch(ctx context.Context) error {
	_, _, err := c.do(ctx, request{Kind: kindWatch})
	return err
}
