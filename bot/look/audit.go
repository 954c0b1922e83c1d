package look

import (
	"context"
	"fmt"
	"strings"

	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
)

// Verify shows what happened to an approval, and whether shown, approved and run are the same.
func (d *Desk) Verify(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if len(c.Args) == 0 {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NeedsText, v.Caps.Slash, grammar.Usage(c.Name)))
	}
	x, err := d.find.Named(ctx, v, c, c.Args[0])
	if err != nil {
		return err
	}
	if x.Approval == "" {
		return fmt.Errorf("%w: %s names no single question", core.ErrRefused, x.Ref)
	}
	views, err := d.s.Views(ctx, []core.SessionID{x.Session})
	if err != nil {
		return err
	}
	if len(views) == 0 || !d.find.MaySee(v, views[0].Session) && v.Role < access.Admin {
		return core.ErrNotFound
	}
	r, err := audit.Check(ctx, d.cfg.Store, x.Approval)
	if err != nil {
		return err
	}
	v.Say("%s", Proof(r))
	return nil
}

var proven = map[audit.Proven]string{audit.ProvenShown: phrase.ProvenShown, audit.ProvenRefused: phrase.ProvenRefused, audit.ProvenApproved: phrase.ProvenApproved,
	audit.ProvenStarted: phrase.ProvenStarted, audit.ProvenRun: phrase.ProvenRun}

// Proof is a receipt as people read it.
func Proof(r audit.Receipt) string {
	var b strings.Builder
	for _, l := range r.Lines {
		fmt.Fprintf(&b, "- %s\n", phrase.Escape(l))
	}
	if len(r.Problems) == 0 {
		b.WriteString(proven[r.Proven])
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "- **%s**\n", phrase.Escape(p))
	}
	return b.String()
}

// auditShown is how many entries audit shows.
const auditShown = 20

func (d *Desk) Audit(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	entries, err := audit.Last(ctx, d.cfg.Store, audit.Filter{}, auditShown)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		what := strings.Join(strings.Fields(strings.Join([]string{e.What, e.Tool, e.Outcome, e.Why}, " ")), " ")
		fmt.Fprintf(&b, "- %s %s %s%s%s\n", e.Time.UTC().Format("01-02 15:04:05"), phrase.Escape(what), refs("S", e.Session), refs("P", e.Prompt), by(e.Who))
	}
	v.Say("%s", b.String())
	return nil
}

func refs(kind string, r core.Ref) string {
	if r == "" {
		return ""
	}
	return fmt.Sprintf("[%s:%s]", kind, r)
}

func by(p core.Person) string {
	if p == "" {
		return ""
	}
	return " by " + phrase.Person(p)
}
