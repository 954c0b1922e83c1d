package sandbox_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// nap is the argument of a sleep that no other test uses, so that its process can be found.
func nap() string { return fmt.Sprintf("600.%08d", rand.IntN(100_000_000)) }

// alive lists the living processes with a text in their arguments, but for the bots of startBot, which have it too.
func alive(t *testing.T, text string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,stat=,args=").Output()
	if err != nil {
		t.Fatalf("list processes: %v", err)
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 3 && f[1][0] != 'Z' && f[3] != "bot" && strings.Contains(line, text) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

// eventually waits until a condition holds, at most until a limit.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-end.C:
			t.Fatalf("not within %v: %s", limit, what)
		case <-tick.C:
		}
	}
}

// gone insists that no process with the text is alive, two seconds after its end at the latest.
func gone(t *testing.T, text string) {
	t.Helper()
	eventually(t, 2*time.Second, "the end of "+text, func() bool { return len(alive(t, text)) == 0 })
}
