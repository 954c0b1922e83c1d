package telegramtest

import (
	"slices"
	"strings"
	"testing"
)

// The wording is the platform's own, as public reports of its answers and the tests of its parser quote it.
func TestHTMLComplaints(t *testing.T) {
	tests := map[string]string{
		"Ann <ann@example.test>": `Unsupported start tag "ann@example.test" at byte offset 4`,
		"a < b":                  `Unsupported start tag "" at byte offset 2`,
		"x <b":                   `Unclosed start tag at byte offset 2`,
		"<br>":                   `Unsupported start tag "br" at byte offset 0`,
		"<b>x":                   `Can't find end tag corresponding to start tag "b"`,
		"<b><i>x</i>":            `Can't find end tag corresponding to start tag "b"`,
		"x</b>":                  `Unexpected end tag at byte offset 1`,
		"<b>x</b":                `Unclosed end tag at byte offset 4`,
		"<b>x</i>":               `Unmatched end tag at byte offset 4, expected "</b>", found "</i>"`,
		"<span>x</span>":         `Tag "span" must have class "tg-spoiler" at byte offset 0`,
		"<a href":                `Unclosed start tag "a" at byte offset 0`,
		`<a href="x`:             `Unclosed start tag at byte offset 0`,
		"<a href=x/>y</a>":       `Unexpected end of name token at byte offset 8`,
		"🏟 🏟&lt;<abac aba>":      `Unsupported start tag "abac" at byte offset 13`,
		"🏟 🏟&lt;<i   =aba>":      `Empty attribute name in the tag "i" at byte offset 13`,
		"🏟 🏟&lt;<i    aba>":      `Expected equal sign in declaration of an attribute of the tag "i" at byte offset 13`,
		"🏟 🏟&lt;<i>a</em   >":    `Unmatched end tag at byte offset 17, expected "</i>", found "</em>"`,
		"&#xDFDF;":               `Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units`,
	}
	for in, want := range tests {
		if text, _, err := parseHTML(in); err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v, want %s", in, text, err, want)
		}
	}
}

func TestHTMLText(t *testing.T) {
	tests := []struct {
		in, text string
		ents     []Entity
	}{
		{"", "", nil},
		{"a > b && c", "a > b && c", nil},
		{"&ge;&lt;&gt;&amp;&quot;&laquo;&#65;&#x42;&#12345678;", "&ge;<>&\"&laquo;AB&#12345678;", nil},
		{"&lt;b&gt;", "<b>", nil},
		{"➡️ <i>➡️ ➡️</i>", "➡️ ➡️ ➡️", []Entity{{Type: "italic", Offset: 3, Length: 5}}},
		{"🙂<b>🙂</b>", "🙂🙂", []Entity{{Type: "bold", Offset: 2, Length: 2}}},
		{"<B>x</b><b></b>", "x", []Entity{{Type: "bold", Length: 1}}},
		{"<b>x</>", "x", []Entity{{Type: "bold", Length: 1}}},
		{"<b>a<i>b</i></b>", "ab", []Entity{{Type: "bold", Length: 2}, {Type: "italic", Offset: 1, Length: 1}}},
		{`<a href="https://x.test/?a=1&amp;b">y</a>`, "y", []Entity{{Type: "text_link", Length: 1, URL: "https://x.test/?a=1&b"}}},
		{`<pre><code class="language-go">x</code></pre>`, "x", []Entity{{Type: "pre", Length: 1, Language: "go"}}},
		{`<code class="language-go">x</code>`, "x", []Entity{{Type: "code", Length: 1}}},
		{`<blockquote expandable>x</blockquote>`, "x", []Entity{{Type: "expandable_blockquote", Length: 1}}},
		{`<span class="tg-spoiler">x</span>`, "x", []Entity{{Type: "spoiler", Length: 1}}},
	}
	for _, tt := range tests {
		text, ents, err := parseHTML(tt.in)
		if err != nil || text != tt.text {
			t.Errorf("%s: %q, %v, want %q", tt.in, text, err, tt.text)
			continue
		}
		bySize := func(a, b Entity) int { return (a.Offset-b.Offset)*10 + b.Length - a.Length }
		slices.SortFunc(ents, bySize)
		if !slices.Equal(ents, tt.ents) {
			t.Errorf("%s: %+v, want %+v", tt.in, ents, tt.ents)
		}
	}
}

func FuzzHTML(f *testing.F) {
	f.Add(`<b>x &lt; <a href="y.z">w</a></b>`)
	f.Add("<i =x")
	f.Add("&#x110000;<pre>")
	f.Fuzz(func(t *testing.T, in string) {
		text, ents, err := parseHTML(in)
		if err != nil {
			return
		}
		for _, e := range ents {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > units(text) {
				t.Errorf("%q: entity %+v outside of %q", in, e, text)
			}
		}
		// A text without markup goes through unchanged once it is escaped.
		if in = strings.ToValidUTF8(in, "?"); !strings.Contains(in, "\x00") {
			escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(in)
			if back, _, err := parseHTML(escaped); err != nil || back != in {
				t.Errorf("%q escaped became %q, %v", in, back, err)
			}
		}
	})
}
