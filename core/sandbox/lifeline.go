package sandbox

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// beatSize is the size of one message on a lifeline: the reading of the clock at which the command must be gone, little-endian.
const beatSize = 8

// lifeline is the bot's end of a helper's pipe. Its owner is the Run that made it; the runner's mutex guards it.
type lifeline struct {
	w     *os.File
	ended bool // by KillAll
}

// send passes on until when the command may live. A pipe that is full belongs to a helper that was stopped: it has nothing to gain from
// one more message, so the message is dropped.
func (l *lifeline) send(until int64) {
	raw, err := l.w.SyscallConn()
	if err != nil {
		return
	}
	msg := binary.LittleEndian.AppendUint64(make([]byte, 0, beatSize), uint64(until))
	// A failed write means that the helper is gone, which Run notices by itself. Returning true means: do not wait until it can be written.
	_ = raw.Write(func(fd uintptr) bool {
		_, _ = unix.Write(int(fd), msg)
		return true
	})
}

// close tells the helper to end the command. It may be called again.
func (l *lifeline) close() { _ = l.w.Close() }
