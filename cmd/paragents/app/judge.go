package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"paragents/cmd/paragents/config"
	"paragents/core"
	"paragents/core/audit"
	"paragents/core/policy"
	"paragents/core/state"
)

// Judge asks the rules of the configuration, and what people stored for the workspace, about a call there.
func Judge(cfg *config.Config, workspace string, stored state.Rules, call policy.Call) (policy.Verdict, error) {
	spaces, _, err := workspaces(cfg)
	if err != nil {
		return policy.Verdict{}, err
	}
	for _, w := range spaces {
		if workspace != "" && w.Name != workspace {
			continue
		}
		home, err := os.UserHomeDir()
		if err != nil {
			home = "/"
		}
		always := policy.Layer{Name: "workspace (stored)"}
		for _, r := range stored.Allow {
			always.Allow = append(always.Allow, r.Rule)
		}
		p, errs := policy.Compile([]policy.Layer{{Name: "managed", Deny: cfg.Rules.Deny, Ask: cfg.Rules.Ask, Allow: cfg.Rules.Allow}, w.Rules, always},
			policy.Options{BuiltIns: true, ReadDefault: true, Protected: protected(cfg, "")})
		if len(errs) > 0 {
			return policy.Verdict{}, errs[0]
		}
		return p.Judge(call, policy.NewOSWorld(w.Dir, home)), nil
	}
	return policy.Verdict{}, fmt.Errorf("there is no workspace %q", workspace)
}

// Explain says what the rules say about a call written Tool(input): the verdict, every rule that spoke, and what the call would do.
func Explain(cfg *config.Config, workspace string, stored []state.StoredRule, call string) (string, error) {
	tool, input, ok := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	if !ok {
		return "", fmt.Errorf("%q is no call; write Tool(input), for example Bash(git push origin main)", call)
	}
	v, err := Judge(cfg, workspace, state.Rules{Allow: stored}, policy.Call{Tool: tool, Input: input})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", v.Decision, v.Reason)
	for _, m := range v.Matches {
		certain := ""
		if !m.Certain {
			certain = " (perhaps)"
		}
		fmt.Fprintf(&b, "  %-5s %s in layer %s speaks about %s%s\n", m.List, m.Rule, m.Layer, m.Subject, certain)
	}
	for _, l := range []struct {
		name string
		list []string
	}{{"runs", v.Parts}, {"reads", v.Reads}, {"writes", v.Writes}, {"reaches", v.URLs}, {"would be stored", v.Offers}} {
		if len(l.list) > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", l.name, strings.Join(l.list, ", "))
		}
	}
	return b.String(), nil
}

// Rejudge judges the calls of the audit log by the present rules, and prints each whose verdict would be another. Rules that people stored for single sessions are not
// counted: the sessions may be gone.
func (l *Live) Rejudge(ctx context.Context, cfg *config.Config, f audit.Filter, out io.Writer) (same, changed int, err error) {
	stored := map[string]state.Rules{}
	err = audit.Read(ctx, l.Store, f, func(e audit.Entry) error {
		was, ok := verdict(e)
		if !ok || len(e.Checks) == 0 {
			return nil
		}
		rules, ok := stored[e.Space]
		if !ok {
			var err error
			if rules, err = l.Scheduler.StoredRules(ctx, state.WorkspaceRules(e.Space)); err != nil {
				return err
			}
			stored[e.Space] = rules
		}
		is, reason := policy.Allow, ""
		for _, check := range e.Checks {
			tool, input, _ := strings.Cut(strings.TrimSuffix(check, ")"), "(")
			v, err := Judge(cfg, e.Space, rules, policy.Call{Tool: tool, Input: input})
			if err != nil {
				return err
			}
			if v.Decision < is || reason == "" {
				is, reason = v.Decision, v.Reason
			}
		}
		if is == was {
			same++
			return nil
		}
		changed++
		fmt.Fprintf(out, "%s [S:%s][P:%s] %s: was %s, would be %s (%s)\n", e.Time.Format("2006-01-02 15:04:05"), e.Session, e.Prompt, strings.Join(e.Checks, " "), was, is, reason)
		return nil
	})
	return same, changed, err
}

// verdict is what the rules said about a call of the audit log.
func verdict(e audit.Entry) (policy.Decision, bool) {
	switch {
	case e.What == "started" && e.Request == core.Ref(""):
		return policy.Allow, true
	case e.What == "started":
		return policy.Ask, true
	case e.What == "refused":
		return policy.Deny, true
	}
	return policy.Deny, false
}
