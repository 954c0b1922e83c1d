package engine

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"paragents/store"
)

// TestMain also is the process of TestADiskThatIsFull, whose limit is for the whole process.
func TestMain(m *testing.M) {
	if path := os.Getenv(fullDiskEnv); path != "" {
		if err := fillDisk(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func config(path string) Config {
	return Config{Path: path, NoSync: true, Now: time.Now, Ring: func([]store.Notify) {}, Logger: slog.New(slog.DiscardHandler)}
}

func newPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state.db")
}

func open(t *testing.T, c Config) *Engine {
	t.Helper()
	e, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func commit(t *testing.T, e *Engine, b store.Batch) store.Result {
	t.Helper()
	r, err := e.Commit(t.Context(), b, true)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func value(t *testing.T, e *Engine, key store.Key) string {
	t.Helper()
	snap, err := e.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(snap.Docs[0].Value)
}

func put(key store.Key, value string) store.Batch {
	return store.Batch{Put: []store.Put{{Key: key, Value: []byte(value)}}}
}

// sizes counts what is in each bucket.
func sizes(t *testing.T, e *Engine) map[string]int {
	t.Helper()
	n := make(map[string]int)
	err := e.view(context.Background(), func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			n[string(name)] = tx.Bucket(name).Stats().KeyN
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// transactions is how many write transactions the file has seen.
func transactions(t *testing.T, e *Engine) int {
	t.Helper()
	var n int
	if err := e.view(context.Background(), func(tx *bbolt.Tx) error { n = tx.ID(); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}
