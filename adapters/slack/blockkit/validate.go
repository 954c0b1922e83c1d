// Package blockkit knows the platform's limits for the messages that the bot sends, before the platform does: it refuses a message for one of them, or
// cuts it without a word, and the client library checks next to nothing.
package blockkit

import (
	"cmp"
	"errors"
	"fmt"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"
)

// Limits of the platform, in characters where nothing else is said.
const (
	MaxMarkdown = 12000 // of all markdown blocks of a message together
	MaxText     = 4000  // of text, after escaping
	MaxSection  = 3000  // of a section's text, after escaping
	MaxBlocks   = 50    // blocks a message
	MaxRow      = 5     // buttons in a row: the platform takes 25, and shows five side by side
	MaxLabel    = 75    // of a button's label
	MaxValue    = 2000  // of a button's value
	MaxID       = 255   // of a block_id or action_id
	MaxHome     = 100   // blocks on a person's own page
	MaxTitle    = 24    // of a form's title and buttons
	MaxAnswer   = 3000  // of what is filled in
	MaxData     = 3000  // of what a form carries
)

// Validate says what the platform would not take of a message's blocks, and of the text beside them.
func Validate(blocks []slackapi.Block, text string) error {
	if n := utf8.RuneCountInString(text); n > MaxText {
		return fmt.Errorf("text of %d characters: Slack takes %d", n, MaxText)
	}
	if n := len(blocks); n > MaxBlocks {
		return fmt.Errorf("%d blocks: Slack takes %d", n, MaxBlocks)
	}
	if text == "" {
		return errors.New("no text: Slack shows it in notifications")
	}
	markdown := 0
	ids := map[string]bool{}
	for i, b := range blocks {
		if err := once(ids, "block_id", b.ID()); err != nil {
			return fmt.Errorf("block %d: %w", i+1, err)
		}
		var err error
		switch b := b.(type) {
		case *slackapi.MarkdownBlock:
			if b.Text == "" {
				err = errors.New("empty markdown")
			}
			markdown += utf8.RuneCountInString(b.Text)
		case *slackapi.SectionBlock:
			err = between("section text", b.Text.Text, MaxSection)
		case *slackapi.ActionBlock:
			err = validateRow(b.Elements.ElementSet)
		default:
			err = fmt.Errorf("type %s is not used", b.BlockType())
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", i+1, err)
		}
	}
	if markdown > MaxMarkdown {
		return fmt.Errorf("%d characters of markdown: Slack takes %d", markdown, MaxMarkdown)
	}
	return nil
}

func validateRow(elements []slackapi.BlockElement) error {
	if n := len(elements); n == 0 || n > MaxRow {
		return fmt.Errorf("%d buttons in a row: must be 1 to %d", n, MaxRow)
	}
	ids := map[string]bool{}
	for i, e := range elements {
		b, ok := e.(*slackapi.ButtonBlockElement)
		if !ok {
			return fmt.Errorf("element %d: type %s is not used", i+1, e.ElementType())
		}
		if err := errors.Join(
			once(ids, "action_id", b.ActionID),
			between("label", b.Text.Text, MaxLabel),
			between("value", cmp.Or(b.Value, b.URL), MaxValue),
			style(b.Style),
		); err != nil {
			return fmt.Errorf("button %d: %w", i+1, err)
		}
	}
	return nil
}

// once checks an id, which may be empty, against those before it.
func once(seen map[string]bool, what, id string) error {
	switch {
	case id == "":
		return nil
	case seen[id]:
		return fmt.Errorf("%s %q twice", what, id)
	}
	seen[id] = true
	return between(what, id, MaxID)
}

func between(what, s string, most int) error {
	if n := utf8.RuneCountInString(s); n == 0 || n > most || !utf8.ValidString(s) {
		return fmt.Errorf("%s of %d characters: must be 1 to %d characters of UTF-8", what, n, most)
	}
	return nil
}

func style(s slackapi.Style) error {
	switch s {
	case slackapi.StyleDefault, slackapi.StylePrimary, slackapi.StyleDanger:
		return nil
	}
	return fmt.Errorf("style %q: must be primary, danger or none", s)
}

// ValidateForm says what the platform would not take of a form with one field.
func ValidateForm(v slackapi.ModalViewRequest) error {
	errs := []error{between("title", v.Title.Text, MaxTitle), between("button", v.Submit.Text, MaxTitle), between("button", v.Close.Text, MaxTitle)}
	if n := utf8.RuneCountInString(v.PrivateMetadata); n > MaxData {
		errs = append(errs, fmt.Errorf("%d characters of data: Slack takes %d", n, MaxData))
	}
	for _, b := range v.Blocks.BlockSet {
		input, ok := b.(*slackapi.InputBlock)
		if !ok {
			errs = append(errs, fmt.Errorf("type %s is not used", b.BlockType()))
			continue
		}
		errs = append(errs, between("label", input.Label.Text, MaxValue))
		if field, ok := input.Element.(*slackapi.PlainTextInputBlockElement); !ok || field.MaxLength < 1 || field.MaxLength > MaxAnswer {
			errs = append(errs, fmt.Errorf("an answer must be of 1 to %d characters", MaxAnswer))
		}
	}
	return errors.Join(errs...)
}

// ValidateHome says what the platform would not take of a person's own page.
func ValidateHome(blocks []slackapi.Block) error {
	if n := len(blocks); n > MaxHome {
		return fmt.Errorf("%d blocks: Slack takes %d", n, MaxHome)
	}
	for i, b := range blocks {
		var err error
		switch b := b.(type) {
		case *slackapi.SectionBlock:
			err = between("section text", b.Text.Text, MaxSection)
		case *slackapi.ActionBlock:
			err = validateRow(b.Elements.ElementSet)
		default:
			err = fmt.Errorf("type %s is not used there", b.BlockType())
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", i+1, err)
		}
	}
	return nil
}
