package markup

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var dialects = []Dialect{Plain, HTML, Mrkdwn, Discord, SlackMarkdown}

// markdown draws documents in the ways that models write them, and worse.
func markdown() *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{
		"word", "a", "It works.", "snake_case", "*", "**", "_", "~~", "`", "```", "\\", "<b>", "&amp;", "&", "<!channel>", "<@U1>",
		"@everyone", "@here", "<@&12>", "#", "1.", "2)", "-", "+", "=", "|", ">", "!", "[", "]", "(", "🙂", "👨‍👩‍👧‍👦", "🇩🇪", "é", "重点", "。", "\t",
		"Ann <ann@example.test>", "a_b_c*", "https://x.test/a_b?c=d&e=f", "www.x.test", "&lt;script&gt;", "&#32;", "\x1b[31m", "don't",
	})
	inline := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(1, 8).Draw(t, "words")
		var b strings.Builder
		for range n {
			w := word.Draw(t, "word")
			switch rapid.IntRange(0, 11).Draw(t, "form") {
			case 0:
				w = "**" + w + "**"
			case 1:
				w = "*" + w + "*"
			case 2:
				w = "~~" + w + " x~~"
			case 3:
				w = "`" + w + "`"
			case 4:
				w = "[" + w + "](https://x.test/" + rapid.StringN(0, 4, 8).Draw(t, "path") + ")"
			case 5:
				w = "**bold *both* " + w + "**"
			case 6:
				w = "![" + w + "](i.png)"
			case 7:
				w = "``" + w + "``"
			}
			b.WriteString(w)
			b.WriteString(rapid.SampledFrom([]string{" ", " ", " ", "", "\n", "  \n"}).Draw(t, "space"))
		}
		return b.String()
	})
	block := rapid.Custom(func(t *rapid.T) string {
		s := inline.Draw(t, "inline")
		switch rapid.IntRange(0, 10).Draw(t, "block") {
		case 0:
			return "## " + s
		case 1:
			return "- " + s + "\n  - " + inline.Draw(t, "nested") + "\n    1. deep\n- [x] done"
		case 2:
			return "1. " + s + "\n2. " + inline.Draw(t, "second")
		case 3:
			return "> " + strings.ReplaceAll(s, "\n", "\n> ")
		case 4:
			return "```go\n" + s + "\n\tcode()\n```"
		case 5:
			return "| a | b |\n|---|--:|\n| " + strings.ReplaceAll(s, "\n", " ") + " | 2 |"
		case 6:
			return "- item\n\n  ```\n  " + s + "\n  ```\n\n  after"
		case 7:
			return "<div>\n    " + s + "\n</div>"
		case 8:
			return strings.Repeat("x", rapid.IntRange(1, 200).Draw(t, "long"))
		default:
			return s
		}
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(block, 0, 6).Draw(t, "blocks"), rapid.SampledFrom([]string{"\n\n", "\n"}).Draw(t, "between"))
	})
}

func TestPiecesOfAnyMarkdown(t *testing.T) {
	units := []Unit{UTF16, Rune, Byte}
	rapid.Check(t, func(t *rapid.T) {
		source := markdown().Draw(t, "source")
		l := Limits{Unit: rapid.SampledFrom(units).Draw(t, "unit"), Max: rapid.IntRange(32, 600).Draw(t, "max")}
		for _, d := range dialects {
			if d == SlackMarkdown { // reread exactly: without the quotes between them, lists would join
				l.Max = max(l.Max, minMarkup)
			}
			if err := check(source, d, l); err != nil {
				t.Fatalf("%s %v: %v", d, l, err)
			}
		}
	})
}

func TestEscapeIsLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(markdown(), rapid.StringOf(rapid.SampledFrom([]rune("*_~`<>&|[]()!#-+=:.1 a\n\\@/")))).Draw(t, "text")
		for _, d := range []Dialect{HTML, SlackMarkdown} {
			out, err := seen(Escape(text, d), d)
			if err != nil {
				t.Fatal(err)
			}
			if signs(controls(out)) != signs(controls(text)) {
				t.Fatalf("%s: %q is shown as %q, sent as %q", d, text, out, Escape(text, d))
			}
		}
	})
}

func TestCodeBlockCannotBeClosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("`` \na<&>"))).Draw(t, "text")
		for _, d := range []Dialect{Mrkdwn, SlackMarkdown, Discord} {
			out := CodeBlock(text, "go", d)
			if strings.Count(out, "```") != 2 || !strings.HasPrefix(out, "```") || !strings.HasSuffix(out, "\n```") {
				t.Fatalf("%s: %q", d, out)
			}
		}
		if _, err := seenHTML(CodeBlock(text, `x"><b>`, HTML)); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{"", "**a", "- - - x", "> > ```\n", "| a |\n|-|\n", "[x](<y>)", "a\n===", "1. a\n\n   b", "\xff", "&#1;", "👨‍👩‍👧"} {
		f.Add(s, 100)
	}
	f.Fuzz(func(t *testing.T, source string, limit int) {
		if len(source) > 4096 {
			return
		}
		l := Limits{Unit: UTF16, Max: minMarkup + int(uint(limit)%500)}
		for _, d := range dialects {
			if err := check(source, d, l); err != nil {
				t.Fatalf("%s %v: %v", d, l, err)
			}
		}
	})
}
