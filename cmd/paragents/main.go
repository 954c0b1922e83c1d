// Paragents runs many AI-agent sessions at once, driven from chats and terminals, and never does a risky thing without a person's yes.
//
// Each subcommand has a file here; what it puts together lies in package app.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"paragents/cmd/paragents/app"
	"paragents/cmd/paragents/config"
	"paragents/core/sandbox"
)

// version is set by the linker.
var version = "dev"

// cli is the command line.
type cli struct {
	Config   string `help:"Configuration file. Default: PARAGENTS_CONFIG, or paragents.yaml in the user's configuration folder." placeholder:"FILE" type:"path"`
	LogLevel string `help:"debug, info, warn or error." enum:"debug,info,warn,error" default:"warn"`

	Chat      chatCmd      `cmd:"" default:"withargs" help:"Talk to agents in this terminal."`
	Serve     serveCmd     `cmd:"" help:"Run every configured platform."`
	Exec      execCmd      `cmd:"" help:"Run one prompt and print its answer."`
	Sessions  sessionsCmd  `cmd:"" help:"Show the sessions."`
	Approvals approvalsCmd `cmd:"" help:"Show what waits for an answer."`
	Approve   approveCmd   `cmd:"" help:"Let an action run."`
	Deny      denyCmd      `cmd:"" help:"Do not let an action run."`
	Audit     auditCmd     `cmd:"" help:"Show who asked, decided and did what, or prove that nothing of it was changed."`
	Verify    verifyCmd    `cmd:"" help:"Prove that what was shown is what was approved and what ran."`
	Rules     rulesCmd     `cmd:"" help:"Show or take back the rules that people stored."`
	Freeze    freezeCmd    `cmd:"" help:"Stop everything, a workspace or a person at once."`
	Thaw      thawCmd      `cmd:"" help:"Let what is frozen go on."`
	Replicas  replicasCmd  `cmd:"" help:"Show the running processes."`
	Trace     traceCmd     `cmd:"" help:"Show everything about a session, prompt or approval, as JSON lines."`
	Policy    policyCmd    `cmd:"" help:"Ask what the rules say about a call, or test them against a table."`
	Preflight preflightCmd `cmd:"" help:"Say what a prompt would write."`
	Pair      pairCmd      `cmd:"" help:"Let the person with a pairing code in."`
	Conf      confCmd      `cmd:"" name:"config" help:"Check, show or describe the configuration."`
	Setup     setupCmd     `cmd:"" help:"Connect platforms, or show what is connected."`
	Doctor    doctorCmd    `cmd:"" help:"Check everything that Paragents needs."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// exit ends the process with a status after everything was closed.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func main() {
	if len(os.Args) > 1 && os.Args[1] == sandbox.ChildArg {
		os.Exit(sandbox.Child(os.Args[2:], os.Stderr))
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // the heap is small and short-lived: collecting half as often costs some MiB and saves a tenth of the CPU
	}
	if err := sandbox.Harden(); err != nil {
		fmt.Fprintf(os.Stderr, "paragents: warning: other processes of this user may read this one's memory: %v\n", err)
	}
	var c cli
	parser, err := kong.New(&c, kong.Name("paragents"), kong.Description("Agents in chats: parallel sessions, approvals that hold, nothing lost."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "paragents:", err)
		return 2
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "paragents: %v; paragents --help shows what there is\n", err)
		return 2
	}
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	setup := &app.Setup{ConfigPath: c.Config, Version: version, Stderr: os.Stderr, Level: level(c.LogLevel), JSON: ctx.Command() == "serve"}
	ctx.BindTo(stop, (*context.Context)(nil))
	err = ctx.Run(setup)
	var status exit
	var problems config.Problems
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &problems):
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fmt.Fprintln(os.Stderr, "paragents:", err)
	return 1
}

func level(name string) slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(name)); err != nil { // kong admits only names that parse
		return slog.LevelWarn
	}
	return l
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run() error {
	fmt.Println("paragents", version)
	return nil
}
