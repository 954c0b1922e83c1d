package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"paragents/store"
)

func TestOneEngineAtATime(t *testing.T) {
	c := config(newPath(t))
	first := open(t, c)
	if _, err := Open(c); !errors.Is(err, ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, c)
}

// A child that inherited Alive may still do something in the name of the owner, so the owner's leases stand as long as it lives.
func TestB050AChildKeepsTheLeasesOfADeadOwner(t *testing.T) {
	c := config(newPath(t))
	e := open(t, c)
	child := exec.Command("sleep", "60")
	child.ExtraFiles = []*os.File{e.Alive()}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() })
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(c); !errors.Is(err, ErrLocked) {
		t.Fatalf("open while a child lives: %v", err)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	open(t, c)
}

func TestModesOfFileAndFolder(t *testing.T) {
	c := config(filepath.Join(t.TempDir(), "a", "b", "state.db"))
	open(t, c)
	for path, want := range map[string]os.FileMode{c.Path: 0o600, filepath.Dir(c.Path): 0o700 | os.ModeDir, filepath.Dir(filepath.Dir(c.Path)): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

func TestAWiderModeIsNarrowed(t *testing.T) {
	c := config(newPath(t))
	if err := open(t, c).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(c.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, c)
	if info, err := os.Stat(c.Path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestB046LeasesOfADeadOwnerEnd(t *testing.T) {
	c := config(newPath(t))
	e := open(t, c)
	lease := func(key store.Key, holder string, expires time.Duration) store.Batch {
		return store.Batch{Put: []store.Put{{Key: key, Value: []byte("v"), Holder: holder, Expires: expires}}}
	}
	commit(t, e, lease("claim/own", "me", time.Hour))
	commit(t, e, lease("claim/never", "me", 0))
	commit(t, e, lease("doc/passing", "", time.Hour))
	commit(t, e, lease("claim/given", "me", time.Hour))
	commit(t, e, lease("claim/given", "", time.Hour)) // no lease any more
	if _, err := e.Commit(t.Context(), lease("claim/others", "you", time.Hour), false); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, c)
	for key, want := range map[store.Key]string{
		"claim/own":    "",
		"claim/never":  "v",
		"doc/passing":  "v",
		"claim/given":  "v",
		"claim/others": "v", // its owner may live: it was another process
	} {
		if got := value(t, e, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if n := sizes(t, e); n["leases"] != 0 || n["expiry"] != 3 {
		t.Errorf("the buckets hold %v", n)
	}
}

// refused proves that the file is refused for a reason that a person understands, and not touched.
func refused(t *testing.T, path, reason string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(config(path))
	if err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), path) {
		t.Fatalf("open: %v; want the path and %q", err, reason)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(content, left) || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
		t.Fatalf("the file was touched: %v, %v", after, err)
	}
	if _, err := Open(config(path)); errors.Is(err, ErrLocked) {
		t.Fatal("the refused file is still locked")
	}
}

func TestB081AFileOfANewerProgram(t *testing.T) {
	path := filled(t)
	change(t, path, func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(metaSchema, number(schema+1)) })
	refused(t, path, "run the newer program")
}

func TestForeignFiles(t *testing.T) {
	for name, content := range map[string]string{
		"text":  "# Title\n",
		"large": strings.Repeat("not a database ", 10_000),
		"zeros": strings.Repeat("\x00", 64<<10),
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			refused(t, path, "not a state file")
		})
	}
	t.Run("another program's database", func(t *testing.T) {
		path := newPath(t)
		change(t, path, func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })
		refused(t, path, "not a state file")
	})
	t.Run("a folder", func(t *testing.T) {
		if _, err := Open(config(t.TempDir())); err == nil || !strings.Contains(err.Error(), "directory") {
			t.Fatalf("open: %v", err)
		}
	})
}

func TestATruncatedFile(t *testing.T) {
	whole, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []int{1, 100, 4096, 5000, 8192, 9000, 16384, len(whole) / 2} {
		path := newPath(t)
		if err := os.WriteFile(path, whole[:part], 0o600); err != nil {
			t.Fatal(err)
		}
		want := "is damaged"
		if part < 100 {
			want = "not a state file" // too little to tell
		}
		refused(t, path, want)
	}
}

func TestAFileThatAnOpenFileBecomes(t *testing.T) {
	path := filled(t)
	e := open(t, config(path))
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	for range 2 { // reading behind the end is a fault, which must not end the process
		if _, err := e.Get(t.Context(), "doc/0001"); err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Fatalf("get from a file that was cut: %v", err)
		}
	}
	if _, err := e.Commit(t.Context(), put("doc/a", "v"), true); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Fatalf("commit to a file that was cut: %v", err)
	}
}

// TestADamagedFile flips bytes: whatever that does, it is an error or nothing, never a panic, a fault or a wait.
func TestADamagedFile(t *testing.T) {
	whole, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	path := newPath(t)
	failures := 0
	for i := range 100 {
		content := bytes.Clone(whole)
		page := rnd.IntN(len(content)/4096) * 4096
		for range 1 + rnd.IntN(4) { // mostly in the page's header and element list
			content[page+rnd.IntN([]int{16, 64, 4096}[rnd.IntN(3)])] ^= byte(1 + rnd.IntN(255))
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := use(path); errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("damage %d: %v", i, err)
		} else if err != nil {
			failures++
		}
	}
	if failures < 10 {
		t.Errorf("only %d of 100 damages were noticed", failures)
	}
}

// use does a bit of everything with a file.
func use(path string) error {
	e, err := Open(config(path))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	keys := make([]store.Key, 1000)
	for i := range keys {
		keys[i] = store.Key(fmt.Sprintf("doc/%04d", i))
	}
	_, e1 := e.Get(ctx, keys...)
	_, e2 := e.Scan(ctx, "index/i", store.Range{})
	_, e3 := e.Scan(ctx, "index/i", store.Range{Reverse: true})
	_, e4 := e.Read(ctx, "log/l", 0, 0)
	b := put("doc/0500", "changed")
	b.Trim = []store.Trim{{Log: "log/l", Before: 200}}
	b.Remove = []store.Remove{{Index: "index/i", Member: "7"}}
	_, e5 := e.Commit(ctx, b, true)
	return errors.Join(e1, e2, e3, e4, e5, e.Close())
}

// filled makes a file with some pages of each kind.
func filled(t *testing.T) string {
	t.Helper()
	c := config(newPath(t))
	e := open(t, c)
	for i := range 20 {
		var b store.Batch
		for j := range 50 {
			n := 50*i + j
			b.Put = append(b.Put, store.Put{Key: store.Key(fmt.Sprintf("doc/%04d", n)), Value: make([]byte, 100), Expires: time.Duration(n%2) * time.Hour})
			b.Insert = append(b.Insert, store.Insert{Index: "index/i", Member: fmt.Sprint(n), Score: float64(n)})
			b.Append = append(b.Append, store.Append{Log: "log/l", Value: make([]byte, 50)})
		}
		b.ID = fmt.Sprint("batch", i)
		commit(t, e, b)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return c.Path
}

// change writes to the file as bbolt, behind the engine's back.
func change(t *testing.T, path string, fn func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}
