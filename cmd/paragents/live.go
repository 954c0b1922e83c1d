package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"paragents/bot/door"
	"paragents/cmd/paragents/app"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
	"paragents/core/freeze"
	"paragents/core/replica"
	"paragents/core/state"
	"paragents/store"
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
	Show   auditShowCmd   `cmd:"" default:"withargs" help:"Print entries, oldest first."`
	Verify auditVerifyCmd `cmd:"" help:"Compare the log with its seals."`
}

type auditShowCmd struct {
	Last    int           `help:"At most so many, the newest." default:"100"`
	Session string        `help:"Of this session."`
	Person  string        `help:"Of this person."`
	Since   time.Duration `help:"Not older than this, e.g. 24h."`
}

// Run prints audit entries as JSON lines.
func (c auditShowCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		if err := l.Need(ctx, access.Admin); err != nil {
			return err
		}
		f := audit.Filter{Session: core.Ref(c.Session), Who: core.Person(c.Person)}
		if c.Since > 0 {
			now, err := l.Now(ctx)
			if err != nil {
				return err
			}
			f.Since = now.Add(-c.Since)
		}
		entries, err := audit.Last(ctx, l.Store, f, c.Last)
		if err != nil {
			return err
		}
		return printAll(entries)
	})
}

type auditVerifyCmd struct{}

// Run compares the log with its seals; exit status 1 if something was changed.
func (auditVerifyCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		r, err := audit.Verify(ctx, l.Store)
		if err != nil {
			return err
		}
		fmt.Printf("%d entries, %d seals, %d not sealed yet, %d problems\n", r.Entries, r.Seals, r.Unsealed, len(r.Problems))
		for _, p := range r.Problems {
			fmt.Println("✗", p)
		}
		if len(r.Problems) > 0 {
			return exit(1)
		}
		return nil
	})
}

type verifyCmd struct {
	Ref string `arg:"" help:"Of the approval."`
}

// Run proves that what was shown, approved and run are the same; exit status 1 if they are not.
func (c verifyCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		n, err := l.Scheduler.Find(ctx, core.Ref(c.Ref))
		if err != nil {
			return err
		}
		r, err := audit.Check(ctx, l.Store, core.ApprovalID(n.ID))
		if err != nil {
			return err
		}
		for _, line := range r.Lines {
			fmt.Println(line)
		}
		for _, p := range r.Problems {
			fmt.Println("✗", p)
		}
		if len(r.Problems) > 0 {
			return exit(1)
		}
		fmt.Println("✓", proven[r.Proven])
		return nil
	})
}

// proven says in a line what a receipt proves.
var proven = map[audit.Proven]string{
	audit.ProvenShown:    "shown; it is not decided yet, and nothing ran",
	audit.ProvenRefused:  "shown, and not approved; nothing ran",
	audit.ProvenApproved: "shown = approved; nothing ran yet",
	audit.ProvenStarted:  "shown = approved = started, once; how it ended is not known",
	audit.ProvenRun:      "shown = approved = run, once",
}

type freezeCmd struct {
	Scope  string   `arg:"" help:"all, workspace/NAME or person/ID."`
	Reason []string `arg:"" help:"Why."`
}

// Run pulls the brake.
func (c freezeCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		if err := l.Need(ctx, access.Admin); err != nil {
			return err
		}
		return l.Scheduler.Freeze(ctx, freeze.Scope(c.Scope), l.Me, strings.Join(c.Reason, " "))
	})
}

type thawCmd struct {
	Scope string `arg:"" help:"all, workspace/NAME or person/ID."`
}

// Run lets go of the brake.
func (c thawCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		if err := l.Need(ctx, access.Admin); err != nil {
			return err
		}
		return l.Scheduler.Thaw(ctx, freeze.Scope(c.Scope), l.Me)
	})
}

type rulesCmd struct {
	List   rulesListCmd   `cmd:"" help:"Show the rules that people stored."`
	Revoke rulesRevokeCmd `cmd:"" help:"Take one back."`
}

type rulesListCmd struct{}

// Run prints the stored rules of the configured workspaces, and of the open sessions.
func (rulesListCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		return l.Rules(ctx, func(where string, _ store.Key, r state.StoredRule) error {
			used := "never used"
			if !r.Used.IsZero() {
				used = "last used " + r.Used.Local().Format("2006-01-02 15:04")
			}
			fmt.Printf("%s\tallow %s\tby %s, %s, for: %s\t%s\n", where, r.Rule, r.By, r.At.Local().Format("2006-01-02 15:04"), r.Show, used)
			return nil
		})
	})
}

type rulesRevokeCmd struct {
	Rule string `arg:"" help:"As rules list shows it."`
}

// Run takes a rule back wherever it is stored.
func (c rulesRevokeCmd) Run(ctx context.Context, s *app.Setup) error {
	return s.Live(ctx, func(l *app.Live) error {
		if err := l.Need(ctx, access.Admin); err != nil {
			return err
		}
		n := 0
		err := l.Rules(ctx, func(_ string, key store.Key, r state.StoredRule) error {
			if r.Rule != c.Rule {
				return nil
			}
			n++
			return l.Scheduler.RevokeRule(ctx, key, c.Rule, l.Me)
		})
		if err == nil && n == 0 {
			err = fmt.Errorf("rule %s: %w; paragents rules list shows those that are stored", c.Rule, core.ErrNotFound)
		}
		return err
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
			fmt.Println(describe(r))
		}
		return nil
	})
}

// describe is one line about a replica.
func describe(r replica.Member) string {
	roles, rules := r.Terms.Digests()
	line := fmt.Sprintf("%s on %s, version %s, since %s, holds %d sessions, serves %s, access %s, rules %s", r.ID, r.Host, r.Version, r.Since.Local().Format("2006-01-02 15:04:05"),
		r.Held, strings.Join(slices.Sorted(maps.Keys(r.Terms.Workspaces)), " "), roles, rules)
	if len(r.Duties) > 0 {
		line += ", does " + strings.Join(r.Duties, " ")
	}
	if len(r.Odd) > 0 {
		line += "; DIFFERS from the others in " + strings.Join(r.Odd, ", ") + ": give all replicas the same configuration"
	}
	return line
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
		p, err := door.Pair(ctx, l.Store, c.Code, role, l.Me)
		if err == nil {
			fmt.Printf("%s (%s) is %s now.\n", p.Name, p.Person, role)
		}
		return err
	})
}
