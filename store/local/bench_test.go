package local

import (
	"fmt"
	"path/filepath"
	"testing"

	"paragents/store"
)

// BenchmarkCommit waits for the disk, as a bot does. One batch is about what an accepted message writes.
func BenchmarkCommit(b *testing.B) {
	batch := store.Batch{
		Expect: []store.Expect{{Key: "prompt/none"}},
		Put:    []store.Put{{Key: "prompt/p", Value: make([]byte, 600)}, {Key: "session/s", Value: make([]byte, 400)}},
		Insert: []store.Insert{{Index: "index/ready", Member: "s", FromNow: true}},
		Append: []store.Append{{Log: "log/audit", Value: make([]byte, 200)}},
		Notify: []store.Notify{{Topic: "ready"}},
	}
	path := filepath.Join(b.TempDir(), "state.db")
	holder, err := Open(b.Context(), Config{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = holder.Close() }()
	client, err := Open(b.Context(), Config{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for name, s := range map[string]store.Store{"holder": holder, "client": client} {
		for _, goroutines := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", name, goroutines), func(b *testing.B) {
				work := make(chan struct{}, goroutines)
				done := make(chan error, goroutines)
				for range goroutines {
					go func() {
						var failed error
						for range work {
							if _, err := s.Commit(b.Context(), batch); err != nil {
								failed = err
							}
						}
						done <- failed
					}()
				}
				b.ResetTimer()
				for range b.N {
					work <- struct{}{}
				}
				close(work)
				for range goroutines {
					if err := <-done; err != nil {
						b.Error(err)
					}
				}
			})
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s, err := Open(b.Context(), Config{Path: filepath.Join(b.TempDir(), "state.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Commit(b.Context(), put("doc/a", "v")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Get(b.Context(), "doc/a", "doc/none"); err != nil {
			b.Fatal(err)
		}
	}
}
