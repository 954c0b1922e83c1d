// Package killtest kills the real program at random moments, while people keep it busy, and reads afterwards what became of everything that was
// asked for. Nothing in it knows how the program is built: it has the binary, a model, a platform, and the store to look at when all is over.
//
// A short version runs with the other tests. PARAGENTS_KILLS is how many kills there are on each store, PARAGENTS_CHAOS how many prompts there are
// while Redis and the network break too, PARAGENTS_SEED repeats the random choices of
// a run (not its timing). With GOFLAGS=-race the program, too, is built with the race detector, and is slow to end.
package killtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// What TestMain makes for all tests.
var (
	binary string // the program
	total  tally
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "killtest")
	if err == nil {
		binary = filepath.Join(dir, "paragents")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", binary, "paragents/cmd/paragents").CombinedOutput(); err != nil {
			err = fmt.Errorf("build the program: %w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(dir)
		fmt.Println(total)
		os.Exit(status)
	}))
}

// tally is what one test, or all of them, came to.
type tally struct {
	prompts, lost, doubled, kills, stops, unknown, copies, failed, across int
}

func (t *tally) add(u tally) {
	t.prompts += u.prompts
	t.lost += u.lost
	t.doubled += u.doubled
	t.kills += u.kills
	t.stops += u.stops
	t.unknown += u.unknown
	t.copies += u.copies
	t.failed += u.failed
	t.across += u.across
}

func (t tally) String() string {
	return fmt.Sprintf("%d prompts, %d lost, %d doubled calls, %d kills, %d outcomes unknown, %d duplicate answers (%d stops, %d approvals decided after a kill, %d prompts given up)",
		t.prompts, t.lost, t.doubled, t.kills, t.unknown, t.copies, t.stops, t.across, t.failed)
}

// number is a setting of the run, or what the test has without it.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
