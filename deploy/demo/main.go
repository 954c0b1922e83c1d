// Demo shows in one terminal, within a minute, what may happen between a question and its answer: two replicas of the real program share a private Redis and a Telegram on
// loopback; while an approval is open the replica that asked is killed, Redis is killed and started again, and then the button is pressed. The action runs once, and
// `paragents verify` proves it. The exit status says whether all of that was so.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"paragents/adapters/telegram/telegramtest"
)

func main() {
	bin := flag.String("bin", "bin/paragents", "the program")
	flag.Parse()
	s := &stage{}
	err := s.play(*bin)
	s.clear()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// stage holds what the demo has started. It is enough of a testing.TB for the Telegram of the tests.
type stage struct {
	testing.TB
	cleanups []func()
	dir      string
	config   string
	bin      string
}

// Helper, Cleanup, Errorf, Logf and Fatalf are what telegramtest needs.
func (s *stage) Helper()                           {}
func (s *stage) Cleanup(f func())                  { s.cleanups = append(s.cleanups, f) }
func (s *stage) Logf(format string, args ...any)   {}
func (s *stage) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (s *stage) Fatalf(format string, args ...any) {
	s.clear()
	fmt.Fprintf(os.Stderr, "demo: "+format+"\n", args...)
	os.Exit(1)
}

// clear ends everything, the last first.
func (s *stage) clear() {
	for len(s.cleanups) > 0 {
		last := len(s.cleanups) - 1
		end := s.cleanups[last]
		s.cleanups = s.cleanups[:last]
		end()
	}
}

const script = "#!/bin/sh\necho \"paid at $(date +%T)\" >> payments.txt\n"

func (s *stage) play(bin string) (err error) {
	if s.bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "paragents-demo-"); err != nil {
		return err
	}
	s.Cleanup(func() { os.RemoveAll(s.dir) })
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() { <-interrupted; s.Fatalf("interrupted") }()
	work := filepath.Join(s.dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "pay.sh"), []byte(script), 0o700); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	telegram := telegramtest.New(s)
	s.config = filepath.Join(s.dir, "paragents.yaml")
	text := fmt.Sprintf("llm: {provider: demo}\nstore: {url: \"redis://127.0.0.1:%s\"}\nworkspaces: [{name: shop, path: %q}]\ntelegram: {bot_token: %q, api_url: %q}\naccess: {admins: [\"telegram:%d\"]}\nlease: 6s\nlisten: \"\"\n",
		port, work, telegramtest.Token, telegram.URL(), telegramtest.Ann.ID)
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		return err
	}

	redis := &process{stage: s, name: "redis", args: []string{"redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--appendonly", "yes", "--appendfsync", "always", "--save", ""}}
	a := &process{stage: s, name: "replica A", args: []string{s.bin, "--config", s.config, "--log-level", "info", "serve"}}
	b := &process{stage: s, name: "replica B", args: a.args}
	say("Two replicas of %s, one Redis that writes to disk, and a Telegram on loopback.", filepath.Base(s.bin))
	if err := redis.start(); err != nil {
		return err
	}
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			break
		} else if time.Now().After(limit) {
			return err
		}
	}
	if err := a.start(); err != nil {
		return err
	}
	if err := a.await("took a duty"); err != nil {
		return err
	}
	if err := b.start(); err != nil {
		return err
	}
	if err := b.await(`"serving"`); err != nil {
		return err
	}
	if err := s.run("replicas"); err != nil {
		return err
	}

	chat := telegram.Private(telegramtest.Ann)
	say("Ann writes: run ./pay.sh")
	telegram.Post(telegramtest.Post{Chat: chat, From: telegramtest.Ann, Text: "run ./pay.sh"})
	card, err := s.message(telegram, chat, func(m telegramtest.Message) bool { return len(m.Keyboard) > 0 })
	if err != nil {
		return err
	}
	fmt.Println(indent(card.Text))
	found := regexp.MustCompile(`run\? (\w+)`).FindStringSubmatch(card.Text)
	if found == nil {
		return fmt.Errorf("the card names no request: %q", card.Text)
	}

	say("kill -9 for replica A, which receives from Telegram and asked. Nobody has answered yet.")
	a.kill()
	say("kill -9 for Redis too, and started again with what is on its disk.")
	redis.kill()
	if err := redis.start(); err != nil {
		return err
	}
	say("Ann presses Approve once; nobody is there to hear it but replica B, when the lease of A has ended.")
	pressed := time.Now()
	telegram.Press(telegramtest.Ann, chat, card.ID, "Approve once")
	answer, err := s.message(telegram, chat, func(m telegramtest.Message) bool { return m.ID > card.ID && strings.Contains(m.Text, "[done]") })
	if err != nil {
		return err
	}
	say("%s later:", time.Since(pressed).Round(100*time.Millisecond))
	fmt.Println(indent(answer.Text))
	say("Replica A comes back, and finds nothing to do again.")
	if err := a.start(); err != nil {
		return err
	}
	if err := a.await(`"serving"`); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	if err := s.run("replicas"); err != nil {
		return err
	}
	paid, err := os.ReadFile(filepath.Join(work, "payments.txt"))
	if err != nil {
		return err
	}
	fmt.Println("$ cat payments.txt")
	fmt.Println(indent(strings.TrimSpace(string(paid))))
	if n := strings.Count(string(paid), "\n"); n != 1 {
		return fmt.Errorf("it ran %d times", n)
	}
	if err := s.run("verify", found[1]); err != nil {
		return err
	}
	if err := s.run("audit", "verify"); err != nil {
		return err
	}
	say("It ran once.")
	return nil
}

func say(format string, args ...any) { fmt.Printf("\n— "+format+"\n", args...) }

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// run runs a subcommand on the live store, as a person would in another terminal.
func (s *stage) run(args ...string) error {
	fmt.Println("$ paragents", strings.Join(args, " "))
	out, err := exec.Command(s.bin, append([]string{"--config", s.config, "--log-level", "error"}, args...)...).Output()
	fmt.Println(indent(strings.TrimSpace(string(out))))
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return fmt.Errorf("paragents %s: %w: %s", args[0], err, failed.Stderr)
	}
	return err
}

// message waits for a message of the bot.
func (s *stage) message(t *telegramtest.Server, chat int64, is func(telegramtest.Message) bool) (telegramtest.Message, error) {
	for limit := time.Now().Add(40 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		for _, m := range t.Messages(chat) {
			if m.FromBot && is(m) {
				return m, nil
			}
		}
	}
	return telegramtest.Message{}, fmt.Errorf("the message did not come; the chat is %v", t.Messages(chat))
}

// process is one of the programs, with its log in a file.
type process struct {
	stage *stage
	name  string
	args  []string
	cmd   *exec.Cmd
	log   string
}

func (p *process) start() error {
	log, err := os.CreateTemp(p.stage.dir, "log-")
	if err != nil {
		return err
	}
	defer log.Close()
	p.log = log.Name()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.stage.dir, log, log
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w; make need installs what is missing", p.name, err)
	}
	p.stage.Cleanup(p.kill)
	return nil
}

// await waits until the process has logged a text.
func (p *process) await(text string) error {
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if raw, err := os.ReadFile(p.log); err == nil && strings.Contains(string(raw), text) {
			return nil
		}
	}
	raw, _ := os.ReadFile(p.log) //nolint:errcheck // it is only shown
	return fmt.Errorf("%s never said %s:\n%s", p.name, text, raw)
}

// kill is kill -9; again is harmless.
func (p *process) kill() {
	p.cmd.Process.Kill() //nolint:errcheck // it is gone either way
	p.cmd.Wait()         //nolint:errcheck // it was killed
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
