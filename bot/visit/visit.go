// Package visit is one thing that somebody did, with what is known about them and what they are answered.
package visit

import (
	"fmt"
	"strings"

	"paragents/bot/button"
	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/core"
	"paragents/core/access"
)

// Visit is one inbound event with what is known about it.
type Visit struct {
	core.Inbound
	Adapter core.Adapter
	Caps    core.Capabilities
	Grants  access.Grants
	Role    access.Role
	Bound   core.SessionID // of the place
	Replied core.SessionID // of the message that this one answers
	Owner   core.Person    // of the bound session, where that decides whether the message is meant for the bot
	Press   *button.Press
	Out     []page.Page // answers
}

// Request is what the visitor asks, with the message that they point at as quoted data: it may be anybody's, and gives no orders.
func (v *Visit) Request() string {
	if v.Quote == "" || v.Replied != "" { // the bot's own words are in the session
		return v.Text
	}
	mark := "-----"
	for strings.Contains(v.Quote, mark) {
		mark += "-"
	}
	return v.Text + fmt.Sprintf(phrase.TellsQuoted, mark, v.Quote, mark)
}

// Entered says for people what of request the visitor did not write.
func (v *Visit) Entered() []string {
	if v.Request() == v.Text {
		return nil
	}
	return []string{phrase.Quote}
}

func (v *Visit) Say(format string, args ...any) {
	v.Out = append(v.Out, page.Page{Text: fmt.Sprintf(format, args...)})
}

// CanAsk reports whether somebody can be shown a button alone at a place, and admins be written to.
func (v *Visit) CanAsk() bool {
	_, ok := v.Adapter.(core.Director)
	return ok && v.Caps.Whispers && v.Caps.Buttons
}

// Typed is the command that a visitor's message is.
func (v *Visit) Typed() (grammar.Command, bool) {
	if v.Kind != core.InMessage || !v.Caps.Threads || !v.Addressed || v.Place.Private || v.ToOther || v.Bot {
		return grammar.Command{}, false
	}
	return grammar.Typed(v.Text)
}

// MayOrder says whether the visitor may direct what belongs to somebody.
func (v *Visit) MayOrder(owner core.Person) error {
	if v.Role >= access.Admin || v.Role >= access.Operator && v.Person == owner {
		return nil
	}
	return fmt.Errorf("%w: this belongs to %s; they, or an admin, can do that", core.ErrForbidden, owner)
}

// Need refuses a person whose role is too small.
func (v *Visit) Need(role access.Role) error {
	if v.Role >= role {
		return nil
	}
	return fmt.Errorf("%w: %s", core.ErrForbidden, fmt.Sprintf(phrase.NotEnough, role, v.Role))
}
