package look

import (
	"context"
	"fmt"
	"strings"

	"paragents/bot/attend"
	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
)

// Setup says what is connected, and what is to be run on the machine for the rest. It takes nothing: a chat is no place for secrets.
func (d *Desk) Setup(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if c.Rest != "" {
		v.Say(phrase.NoSecrets)
		return nil
	}
	var b strings.Builder
	b.WriteString(phrase.Connected)
	for _, a := range d.cfg.Adapters {
		fmt.Fprintf(&b, "- %s: %s\n", phrase.Escape(a.Capabilities().Platform), phrase.Escape(connection(ctx, a)))
	}
	fmt.Fprintf(&b, phrase.ModelIs, map[bool]string{true: phrase.ModelDemo, false: phrase.ModelReal}[d.cfg.Demo])
	fmt.Fprintf(&b, phrase.WorkspacesAre, strings.Join(d.cfg.Names(), ", "))
	b.WriteString(d.notes() + phrase.OnTheMachine)
	v.Say("%s", b.String())
	return nil
}

// connection is how a platform is connected, in one line.
func connection(ctx context.Context, a core.Adapter) string {
	if err := attend.Connected(ctx, a); err != nil {
		return err.Error()
	}
	return phrase.ConnectedFine
}

// notes are what limits the bot on its platforms, one line each.
func (d *Desk) notes() string {
	var b strings.Builder
	for _, a := range d.cfg.Adapters {
		if n, ok := a.(core.Noter); ok {
			for _, note := range n.Notes() {
				fmt.Fprintf(&b, "- %s\n", phrase.Escape(note))
			}
		}
	}
	return b.String()
}

// ShowConfig shows the configuration as it holds, without its secrets.
func (d *Desk) ShowConfig(_ context.Context, v *visit.Visit, _ grammar.Command) error {
	if d.cfg.Settings == nil {
		return fmt.Errorf("%w: there is no configuration here", core.ErrNotFound)
	}
	v.Say("%s", phrase.Fence(strings.TrimRight(d.cfg.Settings(), "\n")))
	return nil
}

func (d *Desk) Workspaces(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	var b strings.Builder
	for _, w := range d.cfg.Workspaces {
		fmt.Fprintf(&b, "- %s at %s (%s)\n", phrase.Code(w.Name), phrase.Code(w.Dir), strings.Join(w.Capabilities, ", "))
	}
	v.Say("%s", b.String())
	return nil
}

func (d *Desk) Replicas(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	list, err := d.s.Replicas(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range list {
		me := ""
		if r.ID == d.s.ID() {
			me = " ← this one"
		}
		fmt.Fprintf(&b, "- %s on %s, version %s, since %s, holds %d sessions%s", phrase.Code(string(r.ID)), phrase.Escape(r.Host), phrase.Escape(r.Version),
			r.Since.UTC().Format("2006-01-02 15:04:05"), r.Held, me)
		if len(r.Duties) > 0 {
			fmt.Fprintf(&b, phrase.Duties, phrase.Code(strings.Join(r.Duties, " ")))
		}
		if len(r.Odd) > 0 {
			fmt.Fprintf(&b, phrase.Odd, phrase.Escape(strings.Join(r.Odd, ", ")))
		}
		b.WriteString("\n")
	}
	v.Say("%s", b.String())
	return nil
}
