package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"paragents/store"
)

func TestAKilledWriterKeepsWhatItAcknowledged(t *testing.T) {
	path := newPath(t)
	last := -1
	for round := 1; round <= 3; round++ {
		p := start(t, "write", path)
		for last < 20*round && p.lines.Scan() {
			n, err := strconv.Atoi(p.lines.Text())
			if err != nil {
				t.Fatal(err)
			}
			last = max(last, n)
		}
		p.kill()
		for p.lines.Scan() { // what it acknowledged before it died
			if n, err := strconv.Atoi(p.lines.Text()); err == nil {
				last = max(last, n)
			}
		}
		s := open(t, Config{Path: path})
		for i := range last + 1 {
			want(t, s, store.Key(fmt.Sprint("doc/", i)), fmt.Sprint(i))
		}
		page, err := s.Scan(t.Context(), "index/all", store.Range{})
		if err != nil || len(page.Entries) <= last || page.Total != int64(len(page.Entries)) {
			t.Fatalf("round %d: %d of %d entries, %v", round, len(page.Entries), last+1, err)
		}
		want(t, s, store.Key(fmt.Sprint("doc/", page.Total)), "") // the batch that was cut off: whole or not at all
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASecondProcess(t *testing.T) {
	path := newPath(t)
	holder := start(t, "hold", path)
	s := open(t, Config{Path: path})
	if holds(s) {
		t.Fatal("two processes hold the file")
	}
	commit(t, s, put("doc/a", "v"))
	want(t, open(t, Config{Path: path}), "doc/a", "v")
	for name, mode := range map[string]os.FileMode{path: 0o600, path + ".sock": 0o600 | os.ModeSocket, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Lstat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
	holder.kill()
}

func TestAClientTakesOver(t *testing.T) {
	path := newPath(t)
	holder := start(t, "hold", path)
	clients := []*Store{open(t, Config{Path: path}), open(t, Config{Path: path}), open(t, Config{Path: path})}
	var bells []<-chan store.Notification
	for _, c := range clients {
		bell, err := c.Subscribe(t.Context(), "bell/a")
		if err != nil {
			t.Fatal(err)
		}
		bells = append(bells, bell)
	}
	lease := store.Batch{Put: []store.Put{{Key: "claim/a", Value: []byte("mine"), Holder: "me", Expires: time.Hour}}}
	version := commit(t, clients[0], lease).Version
	once := store.Batch{ID: "once", Add: []store.Add{{Key: "count/n", Delta: 1}}}
	commit(t, clients[1], once)
	holder.kill()

	fenced := store.Batch{Fence: &store.Fence{Key: "claim/a", Version: version, Holder: "me"}, Notify: []store.Notify{{Topic: "bell/a", Payload: []byte("after")}}}
	commit(t, clients[0], fenced) // the lease is a living process's
	if r := commit(t, clients[1], once); !r.Repeated || r.Counters[0] != 1 {
		t.Errorf("the repeat after the takeover: %+v", r)
	}
	until(t, "one holder", func() bool {
		n := 0
		for _, c := range clients {
			if holds(c) {
				n++
			}
		}
		return n == 1
	})
	for i, bell := range bells {
		until(t, fmt.Sprint("the bell of client ", i), func() bool {
			commit(t, clients[0], fenced)
			select {
			case n := <-bell:
				return string(n.Payload) == "after"
			default:
				return false
			}
		})
	}
	for _, c := range clients { // each holds it once the others are gone
		want(t, c, "count/n", "1")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestB047CommitsWhileHoldersDie: every batch is applied once, whatever happens to the holder while it is under way.
func TestB047CommitsWhileHoldersDie(t *testing.T) {
	path := newPath(t)
	holders := []*process{start(t, "hold", path), start(t, "hold", path), start(t, "hold", path)}
	s := open(t, Config{Path: path, NoSync: true})
	const workers, each = 8, 50
	done := make(chan error, workers*each)
	for w := range workers {
		go func() {
			for i := range each {
				_, err := s.Commit(t.Context(), store.Batch{
					Add:    []store.Add{{Key: "count/n", Delta: 1}},
					Append: []store.Append{{Log: store.Log(fmt.Sprint("log/", w)), Value: fmt.Append(nil, i)}},
				})
				done <- err
			}
		}()
	}
	for i := range workers * each {
		if err := <-done; err != nil {
			t.Error(err)
		}
		if i%100 == 50 && len(holders) > 0 {
			holders[0].kill()
			holders = holders[1:]
		}
	}
	want(t, s, "count/n", fmt.Sprint(workers*each))
	for w := range workers {
		records, err := s.Read(t.Context(), store.Log(fmt.Sprint("log/", w)), 0, 0)
		if err != nil || len(records) != each {
			t.Fatalf("log %d has %d records, %v", w, len(records), err)
		}
		for i, r := range records {
			if string(r.Value) != fmt.Sprint(i) {
				t.Fatalf("record %d of log %d is %q", i, w, r.Value)
			}
		}
	}
}

func TestAStoppedHolderLeavesACommitUnknown(t *testing.T) {
	b := &shared{path: newPath(t)}
	b.holder = start(t, "hold", b.path)
	s := open(t, Config{Path: b.path})
	back := b.Away(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	batch := put("doc/a", "v")
	batch.ID = "a"
	if _, err := s.Commit(ctx, batch); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("commit to a stopped holder: %v", err)
	}
	if _, err := s.Get(ctx, "doc/a"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("get from a stopped holder: %v", err)
	}
	back()
	commit(t, s, batch)
	want(t, s, "doc/a", "v")
}

func TestAHolderThatClosesHandsOver(t *testing.T) {
	path := newPath(t)
	first, second := open(t, Config{Path: path}), open(t, Config{Path: path})
	commit(t, second, put("doc/a", "v"))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, second, "doc/a", "v")
	commit(t, second, put("doc/a", "w"))
	if !holds(second) {
		t.Error("the client did not take the file over")
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path + ".sock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestALongPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("long/", 40), strings.Repeat("n", 100), "state.db")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	if len(temporary) > longestSocket/2 {
		t.Fatalf("the test's own folder %s is too long", temporary)
	}
	open(t, Config{Path: path})
	second := open(t, Config{Path: path})
	if holds(second) {
		t.Fatal("two stores hold the file")
	}
	commit(t, second, put("doc/a", "v"))
	if _, err := os.Lstat(path + ".sock"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

func TestALinkToTheFile(t *testing.T) {
	path := newPath(t)
	open(t, Config{Path: path})
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	commit(t, open(t, Config{Path: link}), put("doc/a", "v"))
}

func TestAPrivateHolderIsNotReached(t *testing.T) {
	path := newPath(t)
	private := open(t, Config{Path: path, Private: true})
	if _, err := Open(t.Context(), Config{Path: path, Private: true}); err == nil || !strings.Contains(err.Error(), "held by another process") {
		t.Errorf("second private open: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, Config{Path: path}); !errors.Is(err, errBusy) || !strings.Contains(err.Error(), path) {
		t.Errorf("open of a file that is held privately: %v", err)
	}
	commit(t, private, put("doc/a", "v"))
}

func TestLargeAnswersComeInParts(t *testing.T) {
	path := newPath(t)
	open(t, Config{Path: path, NoSync: true})
	s := open(t, Config{Path: path, NoSync: true})
	value := bytes.Repeat([]byte("x"), store.MaxValue)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var keys []store.Key
	for i := range 3 {
		key := store.Key(fmt.Sprint("doc/", i))
		keys = append(keys, key, store.Key(fmt.Sprint("doc/none", i)))
		value[store.MaxValue-1] = byte(i)
		if _, err := s.Commit(ctx, store.Batch{Put: []store.Put{{Key: key, Value: value}}, Append: []store.Append{{Log: "log/l", Value: value}}}); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := s.Get(ctx, keys...)
	if err != nil || len(snap.Docs) != len(keys) || snap.Time.IsZero() {
		t.Fatalf("%d of %d documents at %v, %v", len(snap.Docs), len(keys), snap.Time, err)
	}
	for i, d := range snap.Docs {
		if i%2 == 1 && d.Version != 0 || i%2 == 0 && (len(d.Value) != store.MaxValue || d.Value[store.MaxValue-1] != byte(i/2)) {
			t.Errorf("document %d has version %d and %d bytes", i, d.Version, len(d.Value))
		}
	}
	records, err := s.Read(ctx, "log/l", 0, 0)
	if err != nil || len(records) != 3 || records[2].Value[store.MaxValue-1] != 2 {
		t.Fatalf("%d records, %v", len(records), err)
	}
}

func TestAnotherVersionOfTheProtocol(t *testing.T) {
	path := newPath(t)
	s := open(t, Config{Path: path})
	t.Run("asks the holder", func(t *testing.T) {
		conn, err := net.Dial("unix", path+".sock")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.Write([]byte("parasto\x02more")); err != nil {
			t.Fatal(err)
		}
		if got, err := readAll(conn); err != nil || !bytes.Equal(got, preamble[:]) {
			t.Errorf("the holder says %q, %v", got, err)
		}
	})
	t.Run("is the holder", func(t *testing.T) {
		path := newPath(t)
		open(t, Config{Path: path, Private: true})
		listener, err := net.Listen("unix", path+".sock")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		go func() {
			if conn, err := listener.Accept(); err == nil {
				_, _ = conn.Write([]byte("parasto\x02"))
				_, _ = readAll(conn)
				_ = conn.Close()
			}
		}()
		if _, err := Open(t.Context(), Config{Path: path}); !errors.Is(err, errVersion) {
			t.Errorf("open: %v", err)
		}
	})
	commit(t, s, put("doc/a", "v"))
}

// readAll reads to the end of the connection; that the other side threw unread bytes away is an end too.
func readAll(conn net.Conn) ([]byte, error) {
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return nil, err
	}
	var got []byte
	b := make([]byte, 64)
	for {
		n, err := conn.Read(b)
		got = append(got, b[:n]...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return got, err
		}
		if err != nil {
			return got, nil
		}
	}
}

func TestNonsenseEndsOnlyItsConnection(t *testing.T) {
	path := newPath(t)
	s := open(t, Config{Path: path})
	for name, sent := range map[string]string{
		"nothing":       "",
		"no greeting":   "GET / HTTP/1.1\r\n\r\n",
		"huge frame":    string(preamble[:]) + "\xff\xff\xff\xff",
		"no gob":        string(preamble[:]) + "\x00\x00\x00\x05hello",
		"half a frame":  string(preamble[:]) + "\x00\x00\x01\x00half",
		"an empty one":  string(preamble[:]) + "\x00\x00\x00\x00",
		"a large claim": string(preamble[:]) + "\x03\xff\xff\xff",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", path+".sock")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := conn.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if got, err := readAll(conn); err != nil || !bytes.HasPrefix(preamble[:], got) {
				t.Errorf("answered %q, %v", got, err)
			}
			commit(t, s, put("doc/a", name))
		})
	}
}
