package approval

import (
	"fmt"
	"slices"

	"paragents/bot/phrase"
	"paragents/core"
)

// name is a card's, of the original or of a copy.
func (c *Cards) name(card string) string {
	if c.Letter.Copy == nil {
		return card
	}
	return card + "/" + c.Letter.Copy.Key()
}

// whose says on a copy for whom the question is asked, and where: others do not see that.
func (c *Cards) whose(a core.Approval) string {
	if c.Letter.Copy == nil {
		return ""
	}
	text := fmt.Sprintf(phrase.For, c.Called(a.Author))
	if c.Letter.Event.Type == core.EventReminder && c.Letter.Event.By != "" {
		text = fmt.Sprintf(phrase.AsksYou, c.Called(c.Letter.Event.By)) + text
	}
	return text
}

// later reports whether another letter will change the copy of a card once more: several that are decided at once make one change.
func (c *Cards) later(list []core.Approval) bool {
	mine := slices.IndexFunc(list, func(a core.Approval) bool { return a.ID == c.Letter.Event.Approvals[0] })
	for i, a := range list {
		if c.Letter.Copy != nil && (a.Decided.After(c.Letter.Event.Time) || a.Decided.Equal(c.Letter.Event.Time) && i > mine) {
			return true
		}
	}
	return false
}
