// Package redistest starts private Redis servers for tests: alone, behind Sentinels, or as a Cluster. They live in the test's own
// directory, listen on free ports of the loopback, and end with the test.
package redistest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// limit ends every wait for a server.
const limit = 20 * time.Second

const install = "install it to run these tests: apt-get install redis-server redis-sentinel, brew install redis, or see https://redis.io/docs"

// Server is one redis-server or Sentinel process.
type Server struct {
	Addr string // host:port

	path     string // of the program
	dir      string
	args     []string
	password string
	cmd      *exec.Cmd
	ended    chan struct{} // closed when cmd has ended
	log      bytes.Buffer  // what the processes wrote; to be read when they have ended
}

// Start runs a redis-server with an append-only file that is written before each answer: with everysec, Redis puts writes off while an
// fsync is under way, and a killed one loses what it had confirmed. args are further options of it, such as "--requirepass", "x".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := prepare(t, args...)
	if i := slices.Index(args, "--requirepass"); i >= 0 {
		s.password = args[i+1]
	}
	s.args = append([]string{"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--repl-diskless-sync-delay", "0"}, s.args...)
	s.run(t)
	return s
}

// prepare makes a server that is to be run. args come first on its command line: a Sentinel's begin with its configuration file.
func prepare(t testing.TB, args ...string) *Server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("redis-server is missing: %s", install)
	}
	s := &Server{path: path, dir: t.TempDir(), args: args}
	t.Cleanup(func() {
		s.Kill(t)
		if t.Failed() {
			t.Logf("redis at %s: %s", s.Addr, s.tail())
		}
	})
	return s
}

// URL is a store.url of the server.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Port is the port of Addr.
func (s *Server) Port() string {
	_, port, _ := net.SplitHostPort(s.Addr)
	return port
}

// Kill ends the process with SIGKILL; again is harmless.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	select {
	case <-s.ended:
	case <-time.After(limit):
		t.Fatalf("redis at %s does not end", s.Addr)
	}
}

// Restart kills the process and starts it again on the same port with what it has on disk. It returns when the server answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill(t)
	s.run(t)
}

// Pause stops the process (SIGSTOP): connections stay open and nothing answers.
func (s *Server) Pause(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Continue ends a Pause.
func (s *Server) Continue(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("send %v to redis at %s: %v", sig, s.Addr, err)
	}
}

// Do sends one command to the server on a connection of its own. It fails the test when the server answers with an error.
func (s *Server) Do(t testing.TB, args ...any) any {
	t.Helper()
	reply, err := s.try(args...)
	if err != nil {
		t.Fatalf("%v at %s: %v", args, s.Addr, err)
	}
	return reply
}

// Info is what the server says of its role, its primary and its keys; "" when it does not answer, as in the moment in which a Sentinel gives it another role
// and cuts its clients off.
func (s *Server) Info() string {
	reply, err := s.try("info", "replication", "keyspace", "sentinel")
	if err != nil {
		return ""
	}
	return fmt.Sprint(reply)
}

func (s *Server) try(args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	c := redis.NewClient(&redis.Options{Addr: s.Addr, Password: s.password, MaxRetries: -1, DialerRetries: 1, Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true})
	defer c.Close()
	return c.Do(ctx, args...).Result()
}

// run starts the process. The first time it looks for a free port, again when somebody else was quicker.
func (s *Server) run(t testing.TB) {
	t.Helper()
	first := s.Addr == ""
	for range 5 {
		if first {
			s.Addr = net.JoinHostPort("127.0.0.1", freePort(t))
		}
		if s.start(t) {
			return
		}
		if !first {
			break
		}
	}
	t.Fatalf("redis at %s does not start: %s", s.Addr, s.tail())
}

// start returns false when the process ends instead of answering.
func (s *Server) start(t testing.TB) bool {
	t.Helper()
	s.cmd = exec.Command(s.path, append(s.args[:len(s.args):len(s.args)], "--port", s.Port(), "--bind", "127.0.0.1", "--dir", s.dir)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", s.path, err)
	}
	s.ended = make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	up := false
	wait(t, "an answer of redis at "+s.Addr, func() bool {
		select {
		case <-s.ended:
			return true
		default:
		}
		c, err := net.Dial("tcp", s.Addr) // by hand, because the client logs each failure
		if err != nil {
			return false
		}
		_ = c.Close()
		if _, err = s.try("ping"); err != nil {
			return false
		}
		// The port may be somebody else's, and our process about to end because of that.
		info, err := s.try("info", "server")
		up = err == nil && strings.Contains(fmt.Sprint(info), fmt.Sprintf("process_id:%d\r", s.cmd.Process.Pid))
		return up
	})
	return up
}

func (s *Server) tail() string {
	lines := strings.Split(s.log.String(), "\n")
	return strings.Join(lines[max(len(lines)-25, 0):], "\n")
}

// wait asks until done says so.
func wait(t testing.TB, what string, done func() bool) {
	t.Helper()
	end := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited %v in vain for: %s", limit, what)
		}
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
