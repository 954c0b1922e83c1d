package sandbox

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// now is a clock that all processes of the machine share, in nanoseconds. It goes on while the machine sleeps.
func now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails only for a clock that does not exist
	return t.Nano()
}

// adopt does nothing: the system has no such thing.
func adopt() error { return nil }

// attributes of a command's first process: a session and group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Harden does nothing here: the system shows a process's environment to its user, and has no switch for that. Secrets in files
// (`*_file` settings) stay out of the environment.
func Harden() error { return nil }

const zombie = 5 // SZOMB of <sys/proc.h>

// processes lists the living processes of the machine.
func processes() ([]process, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	list := make([]process, 0, len(infos))
	for _, k := range infos {
		pid := int(k.Proc.P_pid)
		sid, err := unix.Getsid(pid)
		if err != nil || k.Proc.P_stat == zombie {
			continue
		}
		list = append(list, process{pid: pid, parent: int(k.Eproc.Ppid), group: int(k.Eproc.Pgid), session: sid})
	}
	return list, nil
}
