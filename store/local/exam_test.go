package local

import (
	"syscall"
	"testing"

	"paragents/store"
	"paragents/store/storetest"
)

// owned is the file of this process: the exam's handles are its holder and, when there are several, clients.
type owned struct{ path string }

func (b owned) Open(t *testing.T) store.Store {
	return open(t, Config{Path: b.path, NoSync: true})
}

func (b owned) Owned() {}

// shared is a file that another process holds, so that the exam's handles are clients until that process is killed.
type shared struct {
	path   string
	holder *process
}

func (b *shared) Open(t *testing.T) store.Store {
	return open(t, Config{Path: b.path, NoSync: true})
}

func (b *shared) Restart(t *testing.T) {
	b.holder.kill()
	b.holder = start(t, "hold", b.path)
}

func (b *shared) Away(t *testing.T) (back func()) {
	signal := func(s syscall.Signal) {
		if err := b.holder.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(b.holder.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("stop the holder: %v, status %v", err, status)
	}
	return func() { signal(syscall.SIGCONT) }
}

func TestExamOfTheHolder(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Backing { return owned{newPath(t)} })
}

func TestExamOfAClient(t *testing.T) {
	all, holder := t, (*process)(nil) // until a subtest kills it
	storetest.Run(t, func(t *testing.T) storetest.Backing {
		path := newPath(t)
		if holder == nil || holder.dead {
			holder = start(all, "hold", path)
		} else {
			holder.hold(t, path)
		}
		return &shared{path: path, holder: holder}
	})
}
