package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"paragents/store"
)

// TestTheVersionStandsForTheTypes fails when a type that goes over the socket has changed and the version has not.
func TestTheVersionStandsForTheTypes(t *testing.T) {
	shapes := map[byte]string{1: "76397dad0192"}
	var text strings.Builder
	seen := make(map[reflect.Type]bool)
	describe(&text, reflect.TypeFor[request](), seen)
	describe(&text, reflect.TypeFor[answer](), seen)
	sum := sha256.Sum256([]byte(text.String()))
	if got, version := hex.EncodeToString(sum[:6]), preamble[len(preamble)-1]; got != shapes[version] {
		t.Errorf("version %d now has shape %s: raise the version in preamble and note the shape here. The types are\n%s", version, got, text.String())
	}
}

func describe(text *strings.Builder, t reflect.Type, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		describe(text, t.Elem(), seen)
	case reflect.Struct:
		if seen[t] || t == reflect.TypeFor[time.Time]() {
			return
		}
		seen[t] = true
		for f := range t.Fields() {
			fmt.Fprintf(text, "%s.%s %s\n", t, f.Name, f.Type)
		}
		for f := range t.Fields() {
			describe(text, f.Type, seen)
		}
	}
}

func TestErrorsOverTheSocket(t *testing.T) {
	for c, known := range codes {
		if got := codeOf(fmt.Errorf("commit batch: %w: more", known)); got != c {
			t.Errorf("%v has code %d, want %d", known, got, c)
		}
		if err := error(&remoteError{code: c, text: "commit batch: why"}); !errors.Is(err, known) || err.Error() != "commit batch: why" {
			t.Errorf("code %d is %v", c, err)
		}
	}
	other := errors.New("other")
	if c := codeOf(other); c != codeOther || errors.Is(&remoteError{code: c}, store.ErrConflict) {
		t.Errorf("another error has code %d", c)
	}
	if c := codeOf(fmt.Errorf("%w: %w", store.ErrUnknown, codes[codeDeadline])); c != codeUnknown {
		t.Errorf("an unknown outcome has code %d", c)
	}
}

// FuzzFrames: whatever an end sends, the other reads it or ends the connection.
func FuzzFrames(f *testing.F) {
	record := func(messages ...any) []byte {
		end := &recorder{}
		l := newLink(end)
		for _, m := range messages {
			if err := l.send(m); err != nil {
				f.Fatal(err)
			}
		}
		return end.sent
	}
	batch := store.Batch{ID: "b", Fence: &store.Fence{}, Put: []store.Put{{Key: "doc/a", Value: []byte("v"), Expires: time.Second}}}
	f.Add(record(request{ID: 1, Kind: kindCommit, Batch: batch}, request{ID: 2, Range: store.Range{After: &store.Entry{}}}))
	f.Add(record(answer{ID: 1, More: true, Docs: make([]store.Doc, 3)}))
	f.Add([]byte{0, 0, 0, 3, 3, 4, 0})
	f.Fuzz(func(t *testing.T, sent []byte) {
		l := newLink(&recorder{sent: sent})
		for range len(sent) + 1 {
			var q request
			if err := l.receive(&q); err != nil {
				return
			}
		}
		t.Error("read more frames than bytes")
	})
}

// recorder keeps what is written and gives it back.
type recorder struct {
	net.Conn
	sent []byte
}

func (r *recorder) Write(b []byte) (int, error) {
	r.sent = append(r.sent, b...)
	return len(b), nil
}

func (r *recorder) Read(b []byte) (int, error) {
	if len(r.sent) == 0 {
		return 0, net.ErrClosed
	}
	n := copy(b, r.sent)
	r.sent = r.sent[n:]
	return n, nil
}

func (r *recorder) SetWriteDeadline(time.Time) error { return nil }
