package bot

import (
	"context"
	"fmt"
	"strings"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
	"paragents/core/freeze"
	"paragents/core/state"
)

// scope reads what freeze and thaw are about, and what is left of the text.
func scope(c Command) (freeze.Scope, string, error) {
	word, rest := cutWord(c.Rest)
	kind := strings.ToLower(word)
	switch kind {
	case "workspace", "person":
		name, tail := cutWord(rest)
		if name == "" {
			return "", "", fmt.Errorf("%w: name the %s", core.ErrRefused, kind)
		}
		if kind == "person" {
			return freeze.Person(core.Person(name)), tail, nil
		}
		return freeze.Workspace(name), tail, nil
	case "all":
		return freeze.All, rest, nil
	}
	return freeze.All, c.Rest, nil
}

// freeze pulls the brake, or lets go of it.
func (d *Desk) freeze(ctx context.Context, v *visit, c Command) error {
	s, reason, err := scope(c)
	if err != nil {
		return err
	}
	if c.Name == "thaw" {
		if err := d.s.Thaw(ctx, s, v.Person); err != nil {
			return err
		}
		v.say(saysThawed, escape(s.String()))
		return nil
	}
	if strings.TrimSpace(reason) == "" {
		return fmt.Errorf("%w: say why: %sfreeze all REASON", core.ErrRefused, v.caps.Slash)
	}
	if err := d.s.Freeze(ctx, s, v.Person, reason); err != nil {
		return err
	}
	v.say(saysFrozen, escape(s.String()), v.caps.Slash)
	return nil
}

// revoke takes a stored rule back: one of the active session for whoever directs it, one of the workspace for an admin.
func (d *Desk) revoke(ctx context.Context, v *visit, c Command) error {
	rule := strings.Trim(c.Rest, "`")
	if rule == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNeedsText, v.caps.Slash, usage(c.Name)))
	}
	workspace := d.workspace(v)
	if v.bound != "" {
		views, err := d.s.Views(ctx, []core.SessionID{v.bound})
		if err != nil {
			return err
		}
		if len(views) > 0 {
			workspace = views[0].Session.Workspace
		}
		rules, err := d.s.StoredRules(ctx, state.SessionRules(v.bound))
		if err != nil {
			return err
		}
		if rules.Has(rule) {
			if err := d.mayOrderSession(ctx, v, v.bound); err != nil {
				return err
			}
			if err := d.s.RevokeRule(ctx, state.SessionRules(v.bound), rule, v.Person); err != nil {
				return err
			}
			v.say(saysRevoked, code(rule))
			return nil
		}
	}
	if err := need(v, access.Admin); err != nil {
		return err
	}
	if err := d.s.RevokeRule(ctx, state.WorkspaceRules(workspace), rule, v.Person); err != nil {
		return err
	}
	v.say(saysRevoked, code(rule))
	return nil
}

// verify shows what happened to an approval, and whether shown, approved and run are the same.
func (d *Desk) verify(ctx context.Context, v *visit, c Command) error {
	if len(c.Args) == 0 {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNeedsText, v.caps.Slash, usage(c.Name)))
	}
	x, err := d.named(ctx, v, c, c.Args[0])
	if err != nil {
		return err
	}
	if x.approval == "" {
		return fmt.Errorf("%w: %s names no single question", core.ErrRefused, x.ref)
	}
	views, err := d.s.Views(ctx, []core.SessionID{x.session})
	if err != nil {
		return err
	}
	if len(views) == 0 || !d.maySee(v, views[0].Session) && v.role < access.Admin {
		return core.ErrNotFound
	}
	r, err := audit.Check(ctx, d.cfg.Store, x.approval)
	if err != nil {
		return err
	}
	v.say("%s", Proof(r))
	return nil
}

// Proof is a receipt as people read it.
func Proof(r audit.Receipt) string {
	var b strings.Builder
	for _, l := range r.Lines {
		fmt.Fprintf(&b, "- %s\n", escape(l))
	}
	if len(r.Problems) == 0 {
		b.WriteString(saysProved)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "- **%s**\n", escape(p))
	}
	return b.String()
}

// access takes everything away from a person.
func (d *Desk) access(ctx context.Context, v *visit, c Command) error {
	if len(c.Args) != 2 || c.Args[0] != "revoke" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNeedsText, v.caps.Slash, usage(c.Name)))
	}
	whom := core.Person(c.Args[1])
	n, err := d.s.Revoke(ctx, whom, v.Person, d.workspaceNames(), func(b *state.Batch) error { return access.Without(ctx, d.cfg.Store, b, whom) })
	if err != nil {
		return err
	}
	v.say(saysAccessGone, escape(string(whom)), n)
	if d.cfg.Access.Role(access.Grants{}, whom, v.Place) > access.Nobody {
		v.say(saysStillConfigured, escape(string(whom)))
	}
	return nil
}
