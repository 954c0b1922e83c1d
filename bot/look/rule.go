package look

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/state"
)

func (d *Desk) Approvals(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	list, err := d.find.Decidable(ctx, v)
	if err != nil {
		return err
	}
	var b strings.Builder
	var refs []core.Ref
	for _, a := range list {
		refs = append(refs, a.Ref)
		fmt.Fprintf(&b, "%d. %s [S:%s] %s, waiting for %s\n%s", len(refs), phrase.Code(string(a.Ref)), a.SessionRef, phrase.Escape(a.Action.Tool), phrase.Ago(d.s.Now().Sub(a.Created)),
			phrase.Fence(a.Action.Show))
	}
	if len(refs) == 0 {
		v.Say(phrase.NoApprovals)
		return nil
	}
	v.Say("%s", b.String())
	return d.find.Remember(ctx, v, refs)
}

func (d *Desk) Permissions(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	var b strings.Builder
	name := d.cfg.WorkspaceAt(v.Place)
	var sess state.Rules
	if v.Bound != "" {
		views, err := d.s.Views(ctx, []core.SessionID{v.Bound})
		if err != nil {
			return err
		}
		if len(views) > 0 {
			name = views[0].Session.Workspace
		}
		if sess, err = d.s.StoredRules(ctx, state.SessionRules(v.Bound)); err != nil {
			return err
		}
	}
	stored, err := d.s.StoredRules(ctx, state.WorkspaceRules(name))
	if err != nil {
		return err
	}
	if c.Rest != "" {
		if d.cfg.Explain == nil {
			return fmt.Errorf("%w: the rules cannot be asked about single calls here", core.ErrRefused)
		}
		text, err := d.cfg.Explain(name, append(slices.Clone(stored.Allow), sess.Allow...), c.Rest)
		if err != nil {
			return fmt.Errorf("%w: %v", core.ErrRefused, err)
		}
		v.Say("%s", phrase.Fence(text))
		return nil
	}
	fmt.Fprintf(&b, "**Rules in %s.** deny wins over ask, ask over allow; what no rule allows is asked, reading in the workspace is free.\n\n", phrase.Code(name))
	for _, w := range d.cfg.Workspaces {
		if w.Name != name {
			continue
		}
		for _, l := range []struct {
			list  string
			rules []string
		}{{"deny", w.Deny}, {"ask", w.Ask}, {"allow", w.Allow}} {
			for _, r := range l.rules {
				fmt.Fprintf(&b, "- %s %s (configuration)\n", l.list, phrase.Code(r))
			}
		}
		fmt.Fprintf(&b, "- tools: %s\n", strings.Join(w.Capabilities, ", "))
	}
	for _, l := range []struct {
		where string
		rules []state.StoredRule
	}{{"always here", stored.Allow}, {"this session", sess.Allow}} {
		for _, r := range l.rules {
			fmt.Fprintf(&b, "- allow %s (%s, by %s, %s; %s)\n", phrase.Code(r.Rule), l.where, phrase.Person(r.By), r.At.UTC().Format("2006-01-02 15:04"), lastUse(r))
		}
	}
	v.Say("%s", b.String())
	return nil
}

// lastUse says when a stored rule last let a call through: what came within the hour after is not noted.
func lastUse(r state.StoredRule) string {
	if r.Used.IsZero() {
		return "not used yet"
	}
	return "last used " + r.Used.UTC().Format("2006-01-02 15:04")
}
