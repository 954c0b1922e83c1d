package markup

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// An empty want is not asked for.
func TestDialects(t *testing.T) {
	for _, c := range []struct {
		name, source                          string
		plain, html, mrkdwn, slackMD, discord string
	}{
		{
			name:    "styles",
			source:  "**b** *i* ~~s~~ `c<` ***bi***",
			plain:   "b i s c< bi",
			html:    "<b>b</b> <i>i</i> <s>s</s> <code>c&lt;</code> <b><i>bi</i></b>",
			mrkdwn:  "*b* _i_ ~s~ `c&lt;` *_bi_*",
			slackMD: "**b** *i* ~~s~~ `c<` ***bi***",
			discord: "**b** *i* ~~s~~ `c<` ***bi***",
		}, {
			name:    "heading",
			source:  "## Plan for `x`\ntext",
			plain:   "Plan for x\n\ntext",
			html:    "<b>Plan for </b><code>x</code>\n\ntext",
			mrkdwn:  "*Plan for* `x`\n\ntext",
			slackMD: "**Plan for** `x`\n\ntext",
			discord: "**Plan for** `x`\n\ntext",
		}, {
			name:    "lists",
			source:  "- a\n  - b\n    c\n- [x] d\n- [ ] e\n\n9. f\n10. g",
			plain:   "• a\n  • b\n    c\n☑ d\n☐ e\n\n9. f\n10. g",
			slackMD: "- a\n  - b\n    c\n- ☑ d\n- ☐ e\n\n9. f\n10. g",
			discord: "- a\n  - b\n    c\n- ☑ d\n- ☐ e\n\n9. f\n10. g",
		}, {
			name:    "code in a list and a quote",
			source:  "1. a\n   ```go\n   x\n   ```\n2. b\n\n> q\n> ```\n> y\n> ```\n> r",
			plain:   "1. a\n\nx\n2. b\n\n> q\n\ny\n\n> r",
			html:    "1. a\n\n<pre><code class=\"language-go\">x</code></pre>\n2. b\n\n<blockquote>q</blockquote>\n\n<pre>y</pre>\n\n<blockquote>r</blockquote>",
			discord: "1. a\n\n```go\nx\n```\n2. b\n\n> q\n\n```\ny\n```\n\n> r",
		}, {
			name:    "quote",
			source:  "> a **b**\n> c\n\nd",
			plain:   "> a b\n> c\n\nd",
			html:    "<blockquote>a <b>b</b>\nc</blockquote>\n\nd",
			mrkdwn:  "> a *b*\n> c\n\nd",
			discord: "> a **b**\n> c\n\nd",
		}, {
			name:    "links",
			source:  "[t|x](https://x.test/a_(b)?c&d) ![i](http://i.test/p.png) <https://x.test> [m](mailto:a@x.test)",
			plain:   "t|x (https://x.test/a_%28b%29?c&d) i (http://i.test/p.png) https://x.test m (mailto:a@x.test)",
			html:    `<a href="https://x.test/a_%28b%29?c&amp;d">t|x</a> <a href="http://i.test/p.png">i</a> <a href="https://x.test">https://x.test</a> <a href="mailto:a@x.test">m</a>`,
			mrkdwn:  "<https://x.test/a_%28b%29?c&amp;d|t|x> <http://i.test/p.png|i> <https://x.test> <mailto:a@x.test|m>",
			slackMD: `[t\|x](https://x.test/a_%28b%29?c&d) [i](http://i.test/p.png) <https://x.test> [m](mailto:a@x.test)`,
			discord: `[t\|x](<https://x.test/a_%28b%29?c&d>) [i](<http://i.test/p.png>) <https://x.test> [m](<mailto:a@x.test>)`,
		}, {
			name:   "not links",
			source: "[a](javascript:alert(1)) [b](file.go) [https://bank.test](https://evil.test) [c](tg://user?id=1)",
			plain:  "a (javascript:alert(1)) b (file.go) https://bank.test (https://evil.test) c (tg://user?id=1)",
			html:   "a (javascript:alert(1)) b (file.go) https://bank.test (https://evil.test) c (tg://user?id=1)",
		}, {
			name:   "raw HTML",
			source: "a <b onclick=x>c</b> &lt;i&gt; &amp;lt; \\&amp;\n\n<script>\nx\n</script>",
			plain:  "a <b onclick=x>c</b> <i> &lt; &amp;\n\n<script>\nx\n</script>",
			html:   "a &lt;b onclick=x&gt;c&lt;/b&gt; &lt;i&gt; &amp;lt; &amp;amp;\n\n&lt;script&gt;\nx\n&lt;/script&gt;",
		}, {
			name:   "narrow table",
			source: "| name | n |\n|---|--:|\n| x | 10 |\n| 重点 | 5 |",
			plain:  "name   n\n----  --\nx     10\n重点   5",
			html:   "<pre>name   n\n----  --\nx     10\n重点   5</pre>",
			mrkdwn: "```\nname   n\n----  --\nx     10\n重点   5\n```",
		}, {
			name:    "wide table",
			source:  "| name | what |\n|---|---|\n| **x** | a `long` text that no phone shows in one line |\n| y | |",
			plain:   "• x\n  what: a long text that no phone shows in one line\n• y",
			discord: "- **x**\n  what: a `long` text that no phone shows in one line\n- **y**",
		}, {
			name:    "signs that would touch or not work are left out",
			source:  "这是**重点**内容 *a**b**c* x**y**",
			mrkdwn:  "这是重点内容 abc xy",
			discord: "这是**重点**内容 *a*b*c* x**y**",
		}, {
			name:    "line starts",
			source:  "\\# a\n\\- b\n1\\. c\n\\> d",
			plain:   "# a\n- b\n1. c\n> d",
			mrkdwn:  "# a\n- b\n1. c\n" + zeroWidth + "&gt; d",
			slackMD: "\\# a\n\\- b\n1\\. c\n&gt; d",
			discord: "\\# a\n\\- b\n1\\. c\n\\> d",
		},
		{name: "control characters", source: "a\x1b[31mb\x00", plain: "a⟨U+001B⟩[31mb⟨U+0000⟩"},
		{name: "broken UTF-8", source: "a\xff\xc3b", plain: `a⟨\xff⟩⟨\xc3⟩b`},
	} {
		for d, want := range map[Dialect]string{
			Plain: c.plain, HTML: c.html, Mrkdwn: c.mrkdwn, SlackMarkdown: c.slackMD, Discord: c.discord,
		} {
			if want == "" {
				continue
			}
			got := Render(c.source, d, Limits{Rune, 4000})
			if len(got) != 1 || got[0].Text != want {
				t.Errorf("%s in %s:\ngot  %q\nwant %q", c.name, d, got, want)
			}
		}
	}
}

func TestNothingToShow(t *testing.T) {
	for _, s := range []string{"", " \n\t\n", "\u200B", "[a]: https://x.test", "```\n\n```", "&nbsp;"} {
		if got := Render(s, HTML, Limits{UTF16, 4096}); len(got) != 0 {
			t.Errorf("%q gives %q", s, got)
		}
	}
}

func TestB019EmojiStayWhole(t *testing.T) {
	const family, flag = "👨‍👩‍👧‍👦", "🇩🇪"
	l := Limits{UTF16, 4096}
	for name, source := range map[string]string{
		"emoji":    "a" + strings.Repeat("🙂", 4096),
		"hat":      strings.Repeat("x", 4095) + "🎩",
		"flags":    "a" + strings.Repeat(flag, 1500),
		"families": "abc" + strings.Repeat(family, 800),
		"border":   strings.Repeat("x", 4093) + family + flag,
		"accents":  "x" + strings.Repeat("e\u0301", 4096),
	} {
		for _, d := range dialects {
			joined := ""
			for _, p := range Render(source, d, l) {
				if Len(p.Text, UTF16) > 4096 || !utf8.ValidString(p.Text) || p.Plain == "" {
					t.Errorf("%s in %s: piece of %d units", name, d, Len(p.Text, UTF16))
				}
				for _, whole := range []string{family, flag, "e\u0301"} {
					for i := range whole {
						if i > 0 && strings.HasPrefix(p.Plain, whole[i:]) {
							t.Errorf("%s in %s: a cut in %q", name, d, whole)
						}
					}
				}
				joined += p.Plain
			}
			if joined != source {
				t.Errorf("%s in %s: text changed", name, d)
			}
		}
	}
	// One cluster longer than the limit is cut between its characters.
	long := "e" + strings.Repeat("\u0301", 5000)
	if err := check(long, HTML, l); err != nil {
		t.Error(err)
	}
}

func TestB020LimitHoldsAfterTheTextGrew(t *testing.T) {
	for _, source := range []string{
		strings.Repeat("[a link](https://x.test/some/path?a=b&c=d) ", 300),
		strings.Repeat("&", 3900),
		strings.Repeat("<", 4096) + ">",
		"**" + strings.Repeat("bold & *both* ", 500) + "**",
		"> " + strings.Repeat("quoted `code` and text\n> ", 400),
		"| a | b |\n|---|---|\n" + strings.Repeat("| [x](https://x.test/y) | & |\n", 300),
		"[" + strings.Repeat("label ", 1000) + "](https://x.test/)",
		"[label](https://x.test/" + strings.Repeat("long", 1200) + ")",
	} {
		for _, d := range dialects {
			if err := check(source, d, Limits{UTF16, 4096}); err != nil {
				t.Errorf("%s: %v", d, err)
			}
		}
	}
}

func TestB021FencesCloseAndReopen(t *testing.T) {
	code := func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "\tfmt.Println(%d) // and so on\n", i)
		}
		return b.String()[:n-1] + "x"
	}
	check1 := func(t *testing.T, source string, pieces []Piece) {
		t.Helper()
		joined := ""
		for i, p := range pieces {
			if n := Len(p.Text, Rune); n > 2000 {
				t.Errorf("piece %d has %d characters", i, n)
			}
			if strings.Count(p.Text, "```")%2 != 0 || strings.Count(p.Text, "```go\n") != 1 {
				t.Errorf("piece %d: %q", i, p.Text)
			}
			joined += p.Plain + "\n"
		}
		if want := strings.NewReplacer("```go\n", "", "```", "").Replace(source); strings.Join(strings.Fields(joined), "") != strings.Join(strings.Fields(want), "") {
			t.Errorf("text or order changed")
		}
	}
	source := strings.Repeat("text ", 20) + "\n\n```go\n" + code(3770) + "\n```\n"
	pieces := Render(source, Discord, Limits{Rune, 2000})
	if len(pieces) != 2 {
		t.Errorf("%d pieces", len(pieces))
	}
	check1(t, source, pieces)
	if !strings.Contains(pieces[1].Text, "```go\n\tfmt") {
		t.Errorf("the indentation after the cut is lost: %.40q", pieces[1].Text)
	}
	const fence = len("```go\n\n```")
	for length, want := range map[int]int{1999: 1, 2000: 1, 2001: 2, 4001: 3} {
		source := "```go\n" + code(length-fence) + "\n```"
		if got := Len(source, Rune); got != length {
			t.Fatalf("the source has %d characters", got)
		}
		pieces := Render(source, Discord, Limits{Rune, 2000})
		if len(pieces) != want {
			t.Errorf("%d characters: %d pieces, want %d", length, len(pieces), want)
		}
		check1(t, source, pieces)
	}
}

func TestB022ReadableAsSentAndAsPlain(t *testing.T) {
	const source = "Ann <ann@example.test>, a_b_c*, an unclosed ** and Step 1 - done!"
	for d, want := range map[Dialect]string{
		Plain:         source,
		HTML:          "Ann &lt;ann@example.test&gt;, a_b_c*, an unclosed ** and Step 1 - done!",
		SlackMarkdown: `Ann &lt;ann@example.test&gt;, a\_b\_c\*, an unclosed \*\* and Step 1 - done\!`,
		Discord:       `Ann \<ann@example.test\>, a\_b\_c\*, an unclosed \*\* and Step 1 - done!`,
	} {
		got := Render(source, d, Limits{UTF16, 4096})
		if len(got) != 1 || got[0].Text != want || got[0].Plain != source {
			t.Errorf("%s: %q", d, got)
		}
	}
	for _, s := range []string{"**a", "`a", "```\na", "[a](", "~~a ~~", "*a **b* c**", "<b", "&", "![", "> ```\nx"} {
		for _, d := range dialects {
			if err := check(s, d, Limits{UTF16, 4096}); err != nil {
				t.Errorf("%s: %v", d, err)
			}
		}
	}
}

func TestB023ContentPingsNobody(t *testing.T) {
	const content = "<!channel> see <@U0OTHER001> & <https://x.test|y> and @everyone @here <@&123> <@!5> <#C1> <!subteam^S1> @someone"
	for _, source := range []string{content, "```\n" + content + "\n```", "`" + content + "`", "> **" + content + "**", "| a |\n|---|\n| " + strings.ReplaceAll(content, "|", `\|`) + " |"} {
		for d, banned := range map[Dialect][]string{
			HTML:          {"<!", "<@", "<#"},
			Mrkdwn:        {"<!", "<@", "<#"},
			SlackMarkdown: {"<!", "<@", "<#C"},
		} {
			for _, out := range []string{Render(source, d, Limits{UTF16, 4000})[0].Text, Escape(content, d), CodeBlock(content, "", d)} {
				for _, s := range banned {
					if strings.Contains(out, s) {
						t.Errorf("%s in %s: %q", s, d, out)
					}
				}
			}
		}
	}
	for _, out := range []string{Render(content, Discord, Limits{Rune, 2000})[0].Text, Escape(content, Discord)} {
		for _, s := range []string{"@everyone", "@here", "<@U", "<@&", "<@!", " <#", " <!"} {
			if strings.Contains(strings.ReplaceAll(out, `\<`, `\ `), s) {
				t.Errorf("%s in %q", s, out)
			}
		}
	}
	if out := Escape("hi @someone, mail a@b.test", HTML); out != "hi @"+zeroWidth+"someone, mail a@b.test" {
		t.Errorf("%q", out)
	}
}

func TestB027SlackLimits(t *testing.T) {
	for _, length := range []int{3999, 4000, 4001, 12001} {
		source := strings.Repeat("word & ", length/7+1)[:length-1] + "."
		for d, limit := range map[Dialect]int{Mrkdwn: 4000, SlackMarkdown: 12000} {
			if err := check(source, d, Limits{Rune, limit}); err != nil {
				t.Error(err)
			}
		}
	}
	// A section holds 3,000 after escaping: a command of 3,200 does not fit whole.
	command := "grep '<x>' && " + strings.Repeat("y", 3186)
	pieces := Render("```sh\n"+command+"\n```", Mrkdwn, Limits{Rune, 3000})
	if len(pieces) != 2 {
		t.Errorf("%d pieces", len(pieces))
	}
	for _, p := range pieces {
		if _, err := seen(p.Text, Mrkdwn); err != nil || Len(p.Text, Rune) > 3000 {
			t.Errorf("%d characters, %v", Len(p.Text, Rune), err)
		}
	}
}

func TestCutsPreferBorders(t *testing.T) {
	for _, c := range []struct{ name, source, first string }{
		{"block", strings.Repeat("a", 90) + "\n\n" + strings.Repeat("b. ", 40), strings.Repeat("a", 90)},
		{"line", strings.Repeat("a", 90) + "\n" + strings.Repeat("b. ", 40), strings.Repeat("a", 90)},
		{"sentence", strings.Repeat("a", 90) + ". Then " + strings.Repeat("b ", 40), strings.Repeat("a", 90) + "."},
		{"word", strings.Repeat("a", 90) + " " + strings.Repeat("b", 80), strings.Repeat("a", 90)},
		{"not a link", strings.Repeat("a ", 45) + "[" + strings.Repeat("b ", 20) + "c](https://x.test)", strings.TrimSpace(strings.Repeat("a ", 45))},
		{"not after a bullet", "- " + strings.Repeat("a", 120) + "\n- " + strings.Repeat("b", 126), "• " + strings.Repeat("a", 120)},
	} {
		if got := Render(c.source, Plain, Limits{Rune, 130}); got[0].Text != c.first {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"rm -rf /tmp/x\n\tläuft 重点 🙂 🇩🇪":   "rm -rf /tmp/x\n\tläuft 重点 🙂 🇩🇪",
		"a\u202eb\u2066c\u200bd\ufeffe":    "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+FEFF⟩e",
		"\x1b[2K\r\x00":                    "⟨U+001B⟩[2K⟨U+000D⟩⟨U+0000⟩",
		"\xff\u00a0\u3164\ufe0f\U000e0041": `⟨\xff⟩⟨U+00A0⟩⟨U+3164⟩⟨U+FE0F⟩⟨U+E0041⟩`,
		"\ufffd":                           "\ufffd",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestLen(t *testing.T) {
	for u, want := range map[Unit]int{UTF16: 4, Rune: 3, Byte: 7} {
		if got := Len("aé🙂", u); got != want {
			t.Errorf("%s: %d, want %d", u, got, want)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	source := strings.Repeat("## Heading\n\nSome *text* with `code`, [a link](https://x.test/a?b=c) & **more**. It goes on.\n\n"+
		"- one\n  - two\n\n```go\nfunc main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n", 100)
	for _, d := range dialects {
		b.Run(string(d), func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				Render(source, d, Limits{UTF16, 4096})
			}
		})
	}
}
