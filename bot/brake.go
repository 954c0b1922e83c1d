package bot

import (
	"context"
	"fmt"
	"strings"

	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/freeze"
	"paragents/core/state"
)

// scope reads what freeze and thaw are about, and what is left of the text.
func scope(c grammar.Command) (freeze.Scope, string, error) {
	word, rest := grammar.CutWord(c.Rest)
	kind := strings.ToLower(word)
	switch kind {
	case "workspace", "person":
		name, tail := grammar.CutWord(rest)
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
func (d *Desk) freeze(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	s, reason, err := scope(c)
	if err != nil {
		return err
	}
	if c.Name == "thaw" {
		if err := d.s.Thaw(ctx, s, v.Person); err != nil {
			return err
		}
		v.Say(phrase.Thawed, phrase.Escape(s.String()))
		return nil
	}
	if strings.TrimSpace(reason) == "" {
		return fmt.Errorf("%w: say why: %sfreeze all REASON", core.ErrRefused, v.Caps.Slash)
	}
	if err := d.s.Freeze(ctx, s, v.Person, reason); err != nil {
		return err
	}
	v.Say(phrase.Frozen, phrase.Escape(s.String()), v.Caps.Slash)
	return nil
}

// revoke takes a stored rule back: one of the active session for whoever directs it, one of the workspace for an admin.
func (d *Desk) revoke(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	rule := strings.Trim(c.Rest, "`")
	if rule == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NeedsText, v.Caps.Slash, grammar.Usage(c.Name)))
	}
	workspace := d.cfg.WorkspaceAt(v.Place)
	if v.Bound != "" {
		views, err := d.s.Views(ctx, []core.SessionID{v.Bound})
		if err != nil {
			return err
		}
		if len(views) > 0 {
			workspace = views[0].Session.Workspace
		}
		rules, err := d.s.StoredRules(ctx, state.SessionRules(v.Bound))
		if err != nil {
			return err
		}
		if rules.Has(rule) {
			if err := d.find.MayOrderSession(ctx, v, v.Bound); err != nil {
				return err
			}
			if err := d.s.RevokeRule(ctx, state.SessionRules(v.Bound), rule, v.Person); err != nil {
				return err
			}
			v.Say(phrase.Revoked, phrase.Code(rule))
			return nil
		}
	}
	if err := v.Need(access.Admin); err != nil {
		return err
	}
	if err := d.s.RevokeRule(ctx, state.WorkspaceRules(workspace), rule, v.Person); err != nil {
		return err
	}
	v.Say(phrase.Revoked, phrase.Code(rule))
	return nil
}
