package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"paragents/store"
)

// Both ends begin with the preamble, whose last byte is the version of all that follows: frames of a length (4 bytes, big-endian) and a
// gob-encoded request or answer, one gob stream a direction. The version rises with every change of their types, for gob silently leaves
// out a field that the other end does not know.
var preamble = [8]byte{'p', 'a', 'r', 'a', 's', 't', 'o', 1}

const (
	maxFrame     = 64 << 20        // bytes; a batch within the contract's limits stays below 40 MiB
	maxPart      = 1 << 20         // an answer with more bytes of values than this goes on in another frame
	writeTimeout = 5 * time.Second // for an end that does not read
	greetTimeout = 5 * time.Second
)

// kind says which method a request is for.
type kind uint8

const (
	kindGet kind = iota + 1
	kindCommit
	kindScan
	kindRead
	kindWatch // replaces the topics that the connection hears
)

type request struct {
	ID      uint64
	Kind    kind
	Timeout time.Duration // until the caller's context ends
	Keys    []store.Key
	Batch   store.Batch
	Index   store.Index
	Range   store.Range
	Log     store.Log
	From    int64
	Limit   int
	Topics  []store.Topic
}

// answer is a part of what a request returns, or a ring of a bell (ID 0).
type answer struct {
	ID      uint64
	More    bool // a further part follows
	Code    code
	Text    string // the error's, when there is a code
	Time    time.Time
	Docs    []store.Doc
	Result  store.Result
	Page    store.Page
	Records []store.Record
	Ring    store.Notification
}

// code is an error on the wire.
type code uint8

const (
	codeNone code = iota
	codeOther
	codeConflict
	codeFenced
	codeUnknown
	codeTooLarge
	codeClosed
	codeDeadline
)

var codes = map[code]error{
	codeConflict: store.ErrConflict,
	codeFenced:   store.ErrFenced,
	codeUnknown:  store.ErrUnknown,
	codeTooLarge: store.ErrTooLarge,
	codeClosed:   store.ErrClosed,
	codeDeadline: context.DeadlineExceeded,
}

func codeOf(err error) code {
	if err == nil {
		return codeNone
	}
	if errors.Is(err, store.ErrUnknown) { // which also wraps its cause
		return codeUnknown
	}
	for c, known := range codes {
		if errors.Is(err, known) {
			return c
		}
	}
	return codeOther
}

// remoteError is an error that the holder returned.
type remoteError struct {
	code code
	text string
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return codes[e.code] }

// link is one connection after the greeting. Any goroutine may send; one receives.
type link struct {
	conn net.Conn

	frame   bytes.Buffer
	decoder *gob.Decoder

	mu      sync.Mutex // guards the rest
	out     bytes.Buffer
	encoder *gob.Encoder
}

// greet checks who is there and that both ends speak the same version.
func greet(conn *net.UnixConn) (*link, error) {
	if err := checkPeer(conn); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(greetTimeout)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(preamble[:]); err != nil {
		return nil, err
	}
	var theirs [len(preamble)]byte
	if _, err := io.ReadFull(conn, theirs[:]); err != nil {
		return nil, err
	}
	if theirs != preamble {
		return nil, fmt.Errorf("%w: it greets with %q and this program with %q", errVersion, theirs, preamble)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return newLink(conn), nil
}

func newLink(conn net.Conn) *link {
	l := &link{conn: conn}
	l.decoder, l.encoder = gob.NewDecoder(&l.frame), gob.NewEncoder(&l.out)
	return l
}

var errVersion = errors.New("the process that holds the file is of another version: use the same version for both")

// send writes one frame. After an error the connection is of no use.
func (l *link) send(v any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.Reset()
	l.out.Write(make([]byte, 4))
	if err := l.encoder.Encode(v); err != nil {
		return err
	}
	b := l.out.Bytes()
	if len(b)-4 > maxFrame {
		return fmt.Errorf("frame of %d bytes: %w", len(b)-4, store.ErrTooLarge)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	if err := l.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := l.conn.Write(b)
	if l.out.Cap() > maxPart {
		l.out = bytes.Buffer{}
	}
	return err
}

// receive reads one frame.
func (l *link) receive(v any) error {
	var head [4]byte
	if _, err := io.ReadFull(l.conn, head[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > maxFrame {
		return fmt.Errorf("frame of %d bytes: %w", length, store.ErrTooLarge)
	}
	if l.frame.Cap() > maxPart {
		l.frame = bytes.Buffer{}
	}
	l.frame.Reset()
	l.frame.Grow(int(min(length, maxPart)))
	if _, err := io.CopyN(&l.frame, l.conn, int64(length)); err != nil {
		return err
	}
	if err := l.decoder.Decode(v); err != nil {
		return err
	}
	if l.frame.Len() != 0 {
		return errors.New("frame holds more than one message")
	}
	return nil
}
