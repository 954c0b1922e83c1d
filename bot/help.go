package bot

import (
	"context"
	"fmt"
	"strings"

	"paragents/bot/button"
	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/reply"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
)

func (d *Desk) unknown(v *visit.Visit, c grammar.Command) {
	text := fmt.Sprintf(phrase.NoCommand, phrase.Code(phrase.Cut(c.Name, 40)))
	if n := grammar.Nearest(c.Name); n != "" {
		text += fmt.Sprintf(phrase.Nearest, v.Caps.Slash, n)
	}
	v.Say("%s", text+fmt.Sprintf(phrase.SeeHelp, v.Caps.Slash))
}

func (d *Desk) welcome(v *visit.Visit) page.Page {
	text := fmt.Sprintf(phrase.Welcome, phrase.Code(d.cfg.WorkspaceAt(v.Place)), v.Caps.Slash, v.Caps.Slash)
	if d.cfg.Demo {
		text += phrase.Demo
	}
	return page.Page{Text: text}
}

// Menu is the everyday commands with what they do, for a platform's own menu: of chats with one person, who is also shown the first steps, or of all others.
func Menu(private bool) [][2]string {
	return menu(func(name string, everyday bool) bool { return everyday || private && name == "start" })
}

// menuFor is what a person may do in a chat of their own.
func (d *Desk) menuFor(role access.Role) [][2]string {
	return menu(func(name string, everyday bool) bool {
		needs := d.entries[name].role
		return needs <= role && (everyday || name == "start" || needs == access.Admin)
	})
}

func menu(shown func(name string, everyday bool) bool) [][2]string {
	var out [][2]string
	for _, g := range grammar.All() {
		if shown(g.Name, g.Everyday) {
			out = append(out, [2]string{g.Name, g.Help})
		}
	}
	return out
}

func (d *Desk) help(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	var b strings.Builder
	b.WriteString(d.welcome(v).Text + "\n\n")
	for _, g := range grammar.All() {
		if g.Name == "quit" && !v.Caps.Lines || d.entries[g.Name].role > v.Role {
			continue
		}
		fmt.Fprintf(&b, "- `%s%s` — %s\n", v.Caps.Slash, g.Usage, g.Help)
	}
	v.Say("%s", b.String())
	return nil
}

// start greets with the first steps, as buttons where there are some.
func (d *Desk) start(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	var bs button.Set
	pg := d.welcome(v)
	pg.Text += fmt.Sprintf(phrase.Steps, v.Caps.Slash, v.Caps.Slash)
	for _, step := range phrase.FirstSteps() {
		pg.Rows = append(pg.Rows, []core.Button{bs.Add(step, "", button.Press{Do: button.DoCommand, Command: "new " + step, For: v.Person})})
	}
	if err := bs.Store(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.Out = append(v.Out, pg)
	d.setMenu(ctx, v)
	return nil
}

// setMenu shows in the visitor's own chat what they may do there, behind the answers so far.
func (d *Desk) setMenu(ctx context.Context, v *visit.Visit) {
	m, ok := v.Adapter.(core.Menuer)
	if !ok || !v.Place.Private {
		return
	}
	place, list := v.Place, d.menuFor(v.Role)
	d.replies.Add(ctx, reply.Reply{Also: func(ctx context.Context) error { return m.SetMenu(ctx, place, list) }})
}

func (d *Desk) quit(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	if !v.Caps.Lines {
		return fmt.Errorf("%w: there is nothing to leave here; %sclose closes a session", core.ErrRefused, v.Caps.Slash)
	}
	v.Say(phrase.Leave)
	return nil
}
