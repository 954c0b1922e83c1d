package approval

import (
	"fmt"
	"strings"

	"paragents/bot/markup"
	"paragents/bot/phrase"
	"paragents/core"
)

// Item is one question on a person's own page. What is not shown whole has no buttons there.
func (c *Cards) Item(a core.Approval) core.Item {
	show := markup.Visible(a.Action.Show)
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s · [S:%s] %s · %s\n", a.Ref, a.Action.Tool, a.SessionRef, a.Title, phrase.Ago(c.Now.Sub(a.Created)))
	if len([]rune(show)) > homeShown {
		b.WriteString(phrase.Cut(show, shownAfter) + "\n" + phrase.ElsewhereWhole)
		return core.Item{Text: b.String()}
	}
	fmt.Fprintf(&b, "%s\nin %s\n"+phrase.Because, show, a.Action.Dir, a.Rule)
	return core.Item{Text: b.String(), Rows: c.rows(a)}
}

// homeShown is how much of an action a person's own page shows, in characters: of a longer one there are no buttons.
const homeShown = 6000
