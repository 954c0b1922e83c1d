package blockkit_test

import (
	"fmt"
	"strings"
	"testing"

	slackapi "github.com/slack-go/slack"

	"paragents/adapters/slack/blockkit"
)

func plain(s string) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.PlainTextType, s, false, false)
}

func section(s string) slackapi.Block { return slackapi.NewSectionBlock(plain(s), nil, nil) }

func button(id, value, label string, style slackapi.Style) *slackapi.ButtonBlockElement {
	b := slackapi.NewButtonBlockElement(id, value, plain(label))
	b.Style = style
	return b
}

func row(n int) slackapi.Block {
	var out []slackapi.BlockElement
	for i := range n {
		out = append(out, button(fmt.Sprint(i), "v", "l", ""))
	}
	return slackapi.NewActionBlock("", out...)
}

func repeat(b slackapi.Block, n int) []slackapi.Block {
	out := make([]slackapi.Block, n)
	for i := range out {
		out[i] = b
	}
	return out
}

// TestB027EachLimit: what is at a limit is taken, and one more is not.
func TestB027EachLimit(t *testing.T) {
	x := func(n int) string { return strings.Repeat("🙂", n) }
	one := func(b slackapi.Block) []slackapi.Block { return []slackapi.Block{b} }
	act := func(e ...slackapi.BlockElement) []slackapi.Block { return one(slackapi.NewActionBlock("", e...)) }
	for _, c := range []struct {
		name      string
		good, bad []slackapi.Block
	}{
		{"blocks", repeat(section("x"), 50), repeat(section("x"), 51)},
		{"section", one(section(x(3000))), one(section(x(3001)))},
		{"empty section", one(section(" ")), one(section(""))},
		{"markdown", one(slackapi.NewMarkdownBlock("", x(12000))), one(slackapi.NewMarkdownBlock("", x(12001)))},
		{
			"markdown together", append(one(slackapi.NewMarkdownBlock("", x(6000))), slackapi.NewMarkdownBlock("", x(6000))),
			append(one(slackapi.NewMarkdownBlock("", x(6000))), slackapi.NewMarkdownBlock("", x(6001))),
		},
		{"empty markdown", one(slackapi.NewMarkdownBlock("", "x")), one(slackapi.NewMarkdownBlock("", ""))},
		{"row", one(row(5)), one(row(6))},
		{"empty row", one(row(1)), one(row(0))},
		{"label", act(button("a", "v", x(75), "")), act(button("a", "v", x(76), ""))},
		{"no label", act(button("a", "v", "l", "")), act(button("a", "v", "", ""))},
		{"value", act(button("a", x(2000), "l", "")), act(button("a", x(2001), "l", ""))},
		{"no value", act(button("a", "v", "l", "")), act(button("a", "", "l", ""))},
		{"action_id", act(button(x(255), "v", "l", "")), act(button(x(256), "v", "l", ""))},
		{"same action_id", act(button("a", "v", "l", ""), button("b", "v", "l", "")), act(button("a", "v", "l", ""), button("a", "v", "l", ""))},
		{"block_id", one(slackapi.NewMarkdownBlock(x(255), "x")), one(slackapi.NewMarkdownBlock(x(256), "x"))},
		{
			"same block_id", append(one(slackapi.NewMarkdownBlock("a", "x")), slackapi.NewMarkdownBlock("b", "x")),
			append(one(slackapi.NewMarkdownBlock("a", "x")), slackapi.NewMarkdownBlock("a", "x")),
		},
		{"style", act(button("a", "v", "l", "danger")), act(button("a", "v", "l", "loud"))},
		{"UTF-8", one(section("ж")), one(section("\xd0"))},
		{"known types", one(section("x")), one(slackapi.NewDividerBlock())},
		{"known elements", act(button("a", "v", "l", "primary")), act(slackapi.NewOverflowBlockElement("a"))},
	} {
		if err := blockkit.Validate(c.good, "x"); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := blockkit.Validate(c.bad, "x"); err == nil {
			t.Errorf("%s: more than the limit is taken", c.name)
		}
	}
	for text, ok := range map[string]bool{x(4000): true, x(4001): false, "": false} {
		if err := blockkit.Validate(nil, text); (err == nil) != ok {
			t.Errorf("text of %d bytes: %v", len(text), err)
		}
	}
}
