package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"paragents/cmd/paragents/app"
	"paragents/core/audit"
	"paragents/core/policy"
)

type policyCmd struct {
	Explain policyExplainCmd `cmd:"" help:"Say what the rules say about a call, e.g. 'Bash(git push origin main)'."`
	Test    policyTestCmd    `cmd:"" help:"Judge a table of cases."`
}

type policyExplainCmd struct {
	Call      string `arg:"" help:"Tool(input)."`
	Workspace string `help:"Workspace to judge in." short:"w"`
}

// Run prints the verdict and every rule that spoke.
func (c policyExplainCmd) Run(s *app.Setup) error {
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	text, err := app.Explain(cfg, c.Workspace, nil, c.Call)
	if err == nil {
		fmt.Print(text)
	}
	return err
}

type policyTestCmd struct {
	Rulesets string        `help:"File of rule sets and the world of the cases." type:"existingfile" xor:"what" and:"table"`
	Cases    string        `help:"File of cases, one JSON object a line." type:"existingfile" and:"table"`
	Audit    bool          `help:"Judge past calls of the audit log by the present rules instead." xor:"what"`
	Since    time.Duration `help:"With --audit: not older than this." default:"720h"`
}

// Run prints a line for every case that differs, and the sum; exit status 1 if any does.
func (c policyTestCmd) Run(ctx context.Context, s *app.Setup) error {
	if c.Audit {
		return c.audit(ctx, s)
	}
	if c.Rulesets == "" {
		return errors.New("give --rulesets FILE and --cases FILE, or --audit")
	}
	rulesets, err := os.Open(c.Rulesets)
	if err != nil {
		return err
	}
	defer rulesets.Close()
	cases, err := os.Open(c.Cases)
	if err != nil {
		return err
	}
	defer cases.Close()
	_, failed, err := policy.RunTable(rulesets, cases, os.Stdout)
	if err != nil {
		return err
	}
	if failed > 0 {
		return exit(1)
	}
	return nil
}

// audit judges past calls by the present rules; exit status 1 if any verdict would be another.
func (c policyTestCmd) audit(ctx context.Context, s *app.Setup) error {
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	return s.Live(ctx, func(l *app.Live) error {
		now, err := l.Now(ctx)
		if err != nil {
			return err
		}
		same, changed, err := l.Rejudge(ctx, cfg, audit.Filter{Since: now.Add(-c.Since)}, os.Stdout)
		if err != nil {
			return err
		}
		fmt.Printf("%d the same, %d changed\n", same, changed)
		if changed > 0 {
			return exit(1)
		}
		return nil
	})
}
