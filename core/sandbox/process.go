package sandbox

import (
	"slices"
	"syscall"
	"time"
)

// process is one living process; those that ended and wait to be collected are not.
type process struct {
	pid, parent, group, session int
}

// How often ended processes are looked for, more and more rarely; the system has no way to wait for a set of processes.
const (
	pollFirst = 5 * time.Millisecond
	pollLast  = 40 * time.Millisecond
)

// inSession lists the processes of a session, by the id of its first process.
func inSession(sid int) []process {
	all, err := processes()
	if err != nil {
		return groupOnly(sid)
	}
	return slices.DeleteFunc(all, func(p process) bool { return p.session != sid })
}

// below lists the processes of a session and those that descend from root, without root itself.
func below(root, sid int) []process {
	all, err := processes()
	if err != nil {
		return groupOnly(sid)
	}
	parent := make(map[int]int, len(all))
	for _, p := range all {
		parent[p.pid] = p.parent
	}
	return slices.DeleteFunc(all, func(p process) bool {
		if p.pid == root {
			return true
		}
		if p.session == sid {
			return false
		}
		at := p.parent
		for range len(all) { // processes were listed one after the other: the parents could form a circle
			if at == root {
				return false
			}
			at = parent[at]
		}
		return true
	})
}

// groupOnly stands in where processes cannot be listed.
func groupOnly(id int) []process {
	if syscall.Kill(-id, 0) != nil {
		return nil
	}
	return []process{{pid: id, group: id, session: id}}
}

// end ends the processes that find lists: TERM first, KILL after the grace, again and again while new ones appear, and reports whether
// there were any. After killLimit it gives up on those that the kernel does not let go.
func end(grace time.Duration, find func() []process) bool {
	left := find()
	if len(left) == 0 {
		return false
	}
	if grace > 0 {
		signalAll(left, syscall.SIGTERM)
		signalAll(left, syscall.SIGCONT) // a stopped process would not see it
		if gone(grace, find) {
			return true
		}
	}
	for limit := time.Now().Add(killLimit); time.Now().Before(limit); {
		signalAll(find(), syscall.SIGKILL)
		if gone(pollLast, find) {
			break
		}
	}
	return true
}

// signalAll sends to whole groups at once, so that a process that forks at this moment is reached too.
func signalAll(list []process, sig syscall.Signal) {
	sent := map[int]bool{}
	own := syscall.Getpgrp()
	for _, p := range list {
		if p.group > 1 && p.group != own && !sent[p.group] {
			sent[p.group] = true
			_ = syscall.Kill(-p.group, sig) // it may be gone by now
		}
	}
}

// gone waits until find lists nothing, and reports whether that came within d.
func gone(d time.Duration, find func() []process) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	wait := pollFirst
	for len(find()) > 0 {
		select {
		case <-limit.C:
			return false
		case <-time.After(wait):
			wait = min(2*wait, pollLast)
		}
	}
	return true
}
