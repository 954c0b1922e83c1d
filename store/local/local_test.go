package local

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"paragents/store"
)

// A private store waits for nothing that the fake clock of a journey does not know.
func TestAPrivateStoreUnderAFakeClock(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := open(t, Config{Path: path, NoSync: true, Private: true})
		ctx, cancel := context.WithCancel(t.Context())
		bell, err := s.Subscribe(ctx, "bell/a")
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, store.Batch{Put: []store.Put{{Key: "doc/a", Value: []byte("v"), Expires: 24 * time.Hour}}, Notify: []store.Notify{{Topic: "bell/a"}}})
		<-bell
		time.Sleep(24*time.Hour - time.Millisecond)
		want(t, s, "doc/a", "v")
		time.Sleep(time.Millisecond)
		want(t, s, "doc/a", "")
		if snap, err := s.Get(t.Context()); err != nil || !snap.Time.Equal(begin.Add(24*time.Hour)) {
			t.Errorf("the store's clock is at %v, %v", snap.Time, err)
		}
		cancel()
		if _, open := <-bell; open {
			t.Error("the subscription goes on after its context")
		}
	})
}

func TestTheClockCanBeSet(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	s := open(t, Config{Path: newPath(t), NoSync: true, Private: true, Now: func() time.Time { return now }})
	r := commit(t, s, store.Batch{Put: []store.Put{{Key: "doc/a", Value: []byte("v"), Expires: time.Minute}}, Insert: []store.Insert{{Index: "index/due", Member: "m", FromNow: true, Score: 1000}}})
	if !r.Time.Equal(now) {
		t.Fatalf("committed at %v", r.Time)
	}
	now = now.Add(time.Minute)
	want(t, s, "doc/a", "")
	if page, err := s.Scan(t.Context(), "index/due", store.Range{Due: true}); err != nil || len(page.Entries) != 1 || page.Entries[0].Score != 1_001_000 {
		t.Errorf("due: %+v, %v", page, err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	path := newPath(t)
	holder, client := open(t, Config{Path: path}), open(t, Config{Path: path})
	for _, s := range []*Store{client, holder} {
		bell, err := s.Subscribe(t.Context(), "bell/a")
		if err != nil {
			t.Fatal(err)
		}
		none, err := s.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range bell {
		}
		for range none {
		}
		if _, err := s.Get(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("get: %v", err)
		}
		if _, err := s.Commit(t.Context(), put("doc/a", "v")); !errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("commit: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(home)
	get := func(config string) string {
		t.Helper()
		path, err := DefaultPath(config)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("XDG_STATE_HOME", "relative/is/ignored")
	fallback := filepath.Join(home, ".local", "state", "paragents")
	if got := get(""); got != filepath.Join(fallback, "default", "state.db") {
		t.Errorf("without a configuration: %s", got)
	}
	state := filepath.Join(home, "xdg")
	t.Setenv("XDG_STATE_HOME", state)
	one := get("paragents.yaml")
	if same, other := get(filepath.Join(home, "x", "..", "paragents.yaml")), get("other.yaml"); same != one || other == one {
		t.Errorf("paths: %s, the same %s, another %s", one, same, other)
	}
	if folder := filepath.Dir(filepath.Dir(one)); folder != filepath.Join(state, "paragents") || filepath.Base(one) != "state.db" {
		t.Errorf("path: %s", one)
	}
}
