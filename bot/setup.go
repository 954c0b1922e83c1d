package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/access"
)

// checkLimit bounds how long a platform is asked whether it is connected.
const checkLimit = 3 * time.Second

// setup says what is connected, and what is to be run on the machine for the rest. It takes nothing: a chat is no place for secrets.
func (d *Desk) setup(ctx context.Context, v *visit, c Command) error {
	if c.Rest != "" {
		v.say(saysNoSecrets)
		return nil
	}
	var b strings.Builder
	b.WriteString(saysConnected)
	for _, a := range d.cfg.Adapters {
		fmt.Fprintf(&b, "- %s: %s\n", escape(a.Capabilities().Platform), escape(connection(ctx, a)))
	}
	fmt.Fprintf(&b, saysModelIs, map[bool]string{true: saysModelDemo, false: saysModelReal}[d.cfg.Demo])
	fmt.Fprintf(&b, saysWorkspacesAre, strings.Join(d.workspaceNames(), ", "))
	b.WriteString(d.notes() + saysOnTheMachine)
	v.say("%s", b.String())
	return nil
}

// connection is how a platform is connected, in one line.
func connection(ctx context.Context, a core.Adapter) string {
	c, ok := a.(core.Checker)
	if !ok {
		return saysConnectedFine
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	if err := c.Check(ctx); err != nil {
		return err.Error()
	}
	return saysConnectedFine
}

// notes are what limits the bot on its platforms, one line each.
func (d *Desk) notes() string {
	var b strings.Builder
	for _, a := range d.cfg.Adapters {
		if n, ok := a.(core.Noter); ok {
			for _, note := range n.Notes() {
				fmt.Fprintf(&b, "- %s\n", escape(note))
			}
		}
	}
	return b.String()
}

// showConfig shows the configuration as it holds, without its secrets.
func (d *Desk) showConfig(_ context.Context, v *visit, _ Command) error {
	if d.cfg.Settings == nil {
		return fmt.Errorf("%w: there is no configuration here", core.ErrNotFound)
	}
	v.say("%s", fence(strings.TrimRight(d.cfg.Settings(), "\n")))
	return nil
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
	for _, g := range grammar {
		if shown(g.name, g.everyday) {
			out = append(out, [2]string{g.name, g.help})
		}
	}
	return out
}
