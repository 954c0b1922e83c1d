package redis

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"paragents/store"
)

// Trouble is a state of the server that makes calls fail; errors.Is and errors.As find it in the errors of every method. It reads as one
// sentence that says what to do, and holds no secret.
type Trouble string

func (t Trouble) Error() string { return string(t) }

// The states. Those that pass by themselves are waited for within a call's context.
const (
	Unreachable      Trouble = "redis does not answer: check store.url and that the server runs"
	Loading          Trouble = "redis is still loading its data: it answers when it has"
	ReadOnly         Trouble = "this redis is a read-only replica: the primary is being asked for again"
	PrimaryDown      Trouble = "this redis is a replica that has lost its primary: a fail-over has to happen first"
	ClusterDown      Trouble = "the redis cluster does not serve all its slots: bring the missing nodes back"
	TooFewReplicas   Trouble = "redis has fewer connected replicas than its min-replicas-to-write asks for"
	NotReplicated    Trouble = "fewer replicas than store.min_replicas have confirmed the write: bring them back or lower the setting"
	TooManyClients   Trouble = "redis accepts no more connections: raise its maxclients"
	Busy             Trouble = "redis is busy with somebody's script"
	OutOfMemory      Trouble = "redis is out of memory: raise its maxmemory"
	DiskFailed       Trouble = "redis cannot write to its disk and refuses changes: make room there"
	NoPassword       Trouble = "redis asks for a password, and store.url holds none"
	WrongPassword    Trouble = "redis refuses the user name or password in store.url"
	NoPermission     Trouble = "redis does not allow its user a command or key that is needed: check the user's ACL"
	SentinelPassword Trouble = "a sentinel refuses the log-in: check store.sentinel_username and store.sentinel_password (they are not those in store.url)"
	UnknownPrimary   Trouble = "no sentinel knows a primary of the name in store.url"
	TooOld           Trouble = "this redis is older than 7.0: update it"
)

// passes says whether the state may end while a call waits.
func (t Trouble) passes() bool {
	switch t {
	case OutOfMemory, DiskFailed, NoPassword, WrongPassword, NoPermission, SentinelPassword, UnknownPrimary, TooOld:
		return false
	}
	return true
}

// codes are the first words of the server's error replies.
var codes = [...]struct {
	prefix  string
	trouble Trouble
}{
	{"LOADING", Loading},
	{"READONLY", ReadOnly},
	{"MASTERDOWN", PrimaryDown},
	{"CLUSTERDOWN", ClusterDown},
	{"TRYAGAIN", ClusterDown},
	{"MOVED", ClusterDown},
	{"ASK", ClusterDown},
	{"NOREPLICAS", TooFewReplicas},
	{"ERR max number of clients", TooManyClients},
	{"BUSY", Busy},
	{"OOM", OutOfMemory},
	{"MISCONF", DiskFailed},
	{"NOAUTH", NoPassword},
	{"WRONGPASS", WrongPassword},
	{"ERR AUTH", WrongPassword},
	{"ERR invalid password", WrongPassword},
	{"NOPERM", NoPermission},
}

// translate puts what go-redis says into the words of the contract and of Trouble. It is the only place that knows the server's words.
func translate(err error) error {
	var reply redis.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redis.ErrClosed):
		return store.ErrClosed
	case errors.As(err, new(Trouble)):
		return err
	case strings.Contains(err.Error(), "all sentinels specified"):
		return fmt.Errorf("%w (%w)", sentinelTrouble(err), err)
	case errors.As(err, &reply):
		for _, code := range codes {
			if strings.HasPrefix(reply.Error(), code.prefix) {
				return fmt.Errorf("%w (%w)", code.trouble, err)
			}
		}
		return err
	}
	return fmt.Errorf("%w (%w)", Unreachable, err)
}

func sentinelTrouble(err error) Trouble {
	switch text := err.Error(); {
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"), strings.Contains(text, "NOPERM"), strings.Contains(text, "ERR AUTH"):
		return SentinelPassword
	case errors.Is(err, redis.Nil):
		return UnknownPrimary
	}
	return Unreachable
}

// replied says whether the server itself answered with an error: then that command did nothing.
func replied(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// lostConnection says whether a connection that had been made broke.
func lostConnection(err error) bool {
	for _, sign := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

// again says whether a call may succeed when it is made again.
func again(err error) bool {
	var t Trouble
	return errors.As(err, &t) && t.passes()
}
