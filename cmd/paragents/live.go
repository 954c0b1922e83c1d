package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"paragents/bot"
	"paragents/cmd/paragents/app"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/state"
)

// These commands act on the live store, beside whatever runs on it: on a local one through the process that holds the file.

type sessionsCmd struct {
	All bool `help:"Also closed ones."`
}

// Run prints the sessions, one a line.
func (c sessionsCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		views, err := l.Scheduler.List(ctx, state.Sessions, 200, c.All)
		if err != nil {
			return err
		}
		for _, v := range views {
			fmt.Printf("[S:%s][%s] %s · %s · %s\n", v.Session.Ref, v.Word(), v.Session.Title, v.Session.Owner, v.Session.Touched.Local().Format("2006-01-02 15:04:05"))
		}
		return nil
	})
}

type approvalsCmd struct{}

// Run prints what waits for an answer, whole.
func (approvalsCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		list, err := l.Scheduler.Waiting(ctx, 200)
		if err != nil {
			return err
		}
		for _, a := range list {
			fmt.Printf("%s [S:%s][P:%s] %s, asked because %s\n", a.Ref, a.SessionRef, a.PromptRef, a.Action.Tool, a.Rule)
			for line := range strings.SplitSeq(a.Action.Show, "\n") {
				fmt.Println("    " + line)
			}
		}
		return nil
	})
}

type approveCmd struct {
	Ref   string `arg:"" help:"Of the approval."`
	Scope string `arg:"" optional:"" help:"once, session or always." enum:"once,session,always" default:"once"`
}

// Run approves.
func (c approveCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error { return l.Decide(ctx, core.Ref(c.Ref), core.Approved, core.Scope(c.Scope), "") })
}

type denyCmd struct {
	Ref    string   `arg:"" help:"Of the approval."`
	Reason []string `arg:"" optional:"" help:"For the model to read."`
}

// Run denies.
func (c denyCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		return l.Decide(ctx, core.Ref(c.Ref), core.Denied, core.Once, strings.Join(c.Reason, " "))
	})
}

type auditCmd struct {
	Last int `help:"How many entries." default:"100"`
}

// Run prints audit entries, oldest first.
func (c auditCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		entries, err := bot.Audit(ctx, l.Store, c.Last)
		if err != nil {
			return err
		}
		return printAll(entries)
	})
}

type replicasCmd struct{}

// Run prints the live processes.
func (replicasCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		list, err := l.Scheduler.Replicas(ctx)
		if err != nil {
			return err
		}
		for _, r := range list {
			fmt.Printf("%s on %s, version %s, since %s, holds %d sessions\n", r.ID, r.Host, r.Version, r.Since.Local().Format("2006-01-02 15:04:05"), r.Held)
		}
		return nil
	})
}

type traceCmd struct {
	Ref string `arg:"" help:"Of a session, prompt or approval."`
}

// Run prints the documents, the transcript and the audit entries that belong to a ref.
func (c traceCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		return l.Trace(ctx, core.Ref(c.Ref), func(v any) error { return printAll([]any{v}) })
	})
}

func printAll[T any](list []T) error {
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

type pairCmd struct {
	Code string `arg:"" help:"That the person was told by the bot."`
	Role string `arg:"" optional:"" help:"viewer, operator, approver or admin." default:"operator"`
}

// Run lets a person in.
func (c pairCmd) Run(ctx context.Context, s *app.Setup) error {
	role, err := access.ParseRole(c.Role)
	if err != nil {
		return err
	}
	return s.Live(ctx, func(l *app.Live) error {
		if err := l.Need(ctx, access.Admin); err != nil {
			return err
		}
		p, err := bot.Pair(ctx, l.Store, c.Code, role, l.Me)
		if err == nil {
			fmt.Printf("%s (%s) is %s now.\n", p.Name, p.Person, role)
		}
		return err
	})
}
