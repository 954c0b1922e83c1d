package bot_test

import (
	"flag"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"paragents/core/sandbox"
)

// update rewrites what the bot says in the journeys: go test ./bot -run Journeys -update
var update = flag.Bool("update", false, "rewrite the bot's lines in testdata/*.chat")

// TestMain makes the test binary its own helper for commands. os.Exit would wait for reports of the race detector.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.ChildArg {
		syscall.Exit(sandbox.Child(os.Args[2:], os.Stderr))
	}
	goleak.VerifyTestMain(m)
}
