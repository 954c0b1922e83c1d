package main

import (
	"fmt"
	"os"
	"strings"

	"paragents/cmd/paragents/app"
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
	tool, input, ok := strings.Cut(strings.TrimSuffix(c.Call, ")"), "(")
	if !ok {
		return fmt.Errorf("%q is no call; write Tool(input), for example 'Bash(git push origin main)'", c.Call)
	}
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	v, err := app.Judge(cfg, c.Workspace, policy.Call{Tool: tool, Input: input})
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", v.Decision, v.Reason)
	for _, m := range v.Matches {
		certain := ""
		if !m.Certain {
			certain = " (perhaps)"
		}
		fmt.Printf("  %-5s %s in layer %s speaks about %s%s\n", m.List, m.Rule, m.Layer, m.Subject, certain)
	}
	for name, list := range map[string][]string{"runs": v.Parts, "reads": v.Reads, "writes": v.Writes, "reaches": v.URLs, "would be stored": v.Offers} {
		if len(list) > 0 {
			fmt.Printf("  %s: %s\n", name, strings.Join(list, ", "))
		}
	}
	return nil
}

type policyTestCmd struct {
	Rulesets string `required:"" help:"File of rule sets and the world of the cases." type:"existingfile"`
	Cases    string `required:"" help:"File of cases, one JSON object a line." type:"existingfile"`
}

// Run prints a line for every case that differs, and the sum; exit status 1 if any does.
func (c policyTestCmd) Run() error {
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
