package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// now is a clock that all processes of the machine share, in nanoseconds. It goes on while the machine sleeps.
func now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // fails only for a clock that does not exist
	return t.Nano()
}

// adopt makes this process the parent of all orphans below it, so that a process that leaves its session is still found.
func adopt() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// attributes of a command's first process: a session and group of its own, and the end when the helper is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// Harden keeps other processes of the same user from reading the memory and environment of this one, and so the bot's secrets, and
// from attaching to it. To be called once at the start of a program that holds secrets. It does not hold against root: a bot that runs as
// root shares its secrets with its commands.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect the process: %w", err)
	}
	return nil
}

// processes lists the living processes of the machine.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	list := make([]process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it ended meanwhile
		}
		if p, ok := parseStat(pid, raw); ok {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("list processes: /proc is empty")
	}
	return list, nil
}

// parseStat reads "pid (name) state ppid pgrp session …", where the name may hold anything.
func parseStat(pid int, raw []byte) (process, bool) {
	at := bytes.LastIndexByte(raw, ')')
	fields := bytes.Fields(raw[at+1:])
	if at < 0 || len(fields) < 4 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return process{}, false
	}
	p := process{pid: pid}
	for i, to := range []*int{&p.parent, &p.group, &p.session} {
		n, err := strconv.Atoi(string(fields[i+1]))
		if err != nil {
			return process{}, false
		}
		*to = n
	}
	return p, true
}
