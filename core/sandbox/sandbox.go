// Package sandbox starts the commands of agents, and makes sure that none outlives the right to run it.
package sandbox

import "time"

// Command is one command to run.
type Command struct {
	Argv    []string
	Dir     string
	Env     []string      // the whole environment; nothing is inherited
	Timeout time.Duration // TERM to the group at the end, KILL one second later
	Output  string        // file that takes the whole output; its folder exists
	Limit   int           // bytes of output to keep in memory: half from the beginning, half from the end
}

// Outcome is how a command ended.
type Outcome struct {
	Exit     int    // exit status; -1 when it was killed
	Head     []byte // the beginning and the end of what it wrote on both streams
	Tail     []byte
	Size     int64 // bytes written in all
	TimedOut bool
	Leftover bool // it left processes behind, which were ended
	Took     time.Duration
}

// Runner starts commands on this replica, and passes the replica's heartbeat on to them.
type Runner struct{}
