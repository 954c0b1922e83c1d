package markup

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	tagHTML   = regexp.MustCompile(`<[^>]*>`)
	entity    = regexp.MustCompile(`&(amp|lt|gt);`)
	slackLink = regexp.MustCompile(`<((?:https?|mailto):[^<>|]*)(?:\|([^<>]*))?>`)
	maskLink  = regexp.MustCompile(`\[((?:\\.|[^\]\\\n])*)\]\(<([^<>]*)>\)`)
	fenceLine = regexp.MustCompile("(?m)^```.*$")
)

// seen returns what a reader sees of a message in d, an address after each
// link, or an error where the message is not complete and correct by itself.
func seen(text string, d Dialect) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("not UTF-8: %q", text)
	}
	switch d {
	case HTML:
		return seenHTML(text)
	case SlackMarkdown:
		for _, s := range []string{"<!channel", "<!here", "<!everyone", "<!subteam", "<@", "<#C"} {
			if strings.Contains(text, s) {
				return "", fmt.Errorf("mentions in %q", text)
			}
		}
		var b strings.Builder
		for _, p := range Render(text, Plain, Limits{}) {
			b.WriteString(p.Plain)
		}
		return b.String(), evenFences(text)
	case Mrkdwn:
		out := slackLink.ReplaceAllStringFunc(text, func(s string) string {
			m := slackLink.FindStringSubmatch(s)
			if m[2] == "" {
				return m[1]
			}
			return m[2] + " (" + m[1] + ")"
		})
		if bad := strings.ContainsAny(strings.TrimLeft(regexp.MustCompile(`(?m)^> `).ReplaceAllString(out, ""), ""), "<>"); bad {
			return "", fmt.Errorf("raw < or > in %q", text)
		}
		return html.UnescapeString(fenceLine.ReplaceAllString(out, "")), evenFences(text)
	case Discord:
		out := maskLink.ReplaceAllString(text, "$1 ($2)")
		return strings.ReplaceAll(fenceLine.ReplaceAllString(out, ""), `\`, ""), evenFences(text)
	}
	return text, nil
}

func evenFences(text string) error {
	if strings.Count(text, "```")%2 != 0 || len(fenceLine.FindAllString(text, -1)) != strings.Count(text, "```") {
		return fmt.Errorf("open fence in %q", text)
	}
	return nil
}

// seenHTML is as strict as a platform that refuses what it cannot parse.
func seenHTML(text string) (string, error) {
	var out strings.Builder
	var stack, addresses []string
	rest := text
	for rest != "" {
		at := tagHTML.FindStringIndex(rest)
		content := rest
		if at != nil {
			content = rest[:at[0]]
		}
		if strings.ContainsAny(content, "<>") || strings.Contains(entity.ReplaceAllString(content, ""), "&") {
			return "", fmt.Errorf("raw sign in %q of %q", content, text)
		}
		out.WriteString(html.UnescapeString(content))
		if at == nil {
			break
		}
		tag := strings.Trim(rest[at[0]:at[1]], "<>")
		rest = rest[at[1]:]
		if name, closing := strings.CutPrefix(tag, "/"); closing {
			if len(stack) == 0 || stack[len(stack)-1] != name {
				return "", fmt.Errorf("</%s> closes %v in %q", name, stack, text)
			}
			stack = stack[:len(stack)-1]
			if name == "a" {
				if href := addresses[len(addresses)-1]; !strings.HasSuffix(out.String(), href) {
					out.WriteString(" (" + href + ")")
				}
			}
			continue
		}
		name, attribute, _ := strings.Cut(tag, " ")
		switch {
		case name == "a":
			href := strings.TrimSuffix(strings.TrimPrefix(attribute, `href="`), `"`)
			addresses = append(addresses, html.UnescapeString(href))
		case attribute != "" && !regexp.MustCompile(`^class="language-[A-Za-z0-9+#._-]+"$`).MatchString(attribute),
			!strings.Contains(" b i s code pre blockquote ", " "+name+" "):
			return "", fmt.Errorf("tag %q in %q", tag, text)
		}
		stack = append(stack, name)
	}
	if len(stack) > 0 {
		return "", fmt.Errorf("%v left open in %q", stack, text)
	}
	return out.String(), nil
}

// letters is s without all that dialects may show in their own way.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.In(r, unicode.So, unicode.M, unicode.Sc) {
			return r
		}
		return -1
	}, strings.NewReplacer("☑", "", "☐", "", "⟨", "", "⟩", "").Replace(s))
}

// signs is s without white space, list bullets and the signs of quotes.
func signs(s string) string {
	return strings.Map(func(r rune) rune {
		if !isSeen(r) || r == '>' || r == '•' {
			return -1
		}
		return r
	}, s)
}

// check returns what is wrong with pieces of what unlimited is the whole of.
func check(source string, d Dialect, l Limits) error {
	pieces := Render(source, d, l)
	var plainText, text strings.Builder
	for i, p := range pieces {
		for _, s := range []string{p.Text, p.Plain} {
			if n := Len(s, l.Unit); n > l.Max {
				return fmt.Errorf("piece %d is %d long: %q", i, n, s)
			}
			if !utf8.ValidString(s) || strings.TrimSpace(s) == "" {
				return fmt.Errorf("piece %d is %q", i, s)
			}
		}
		out, err := seen(p.Text, d)
		if err != nil {
			return fmt.Errorf("piece %d: %w", i, err)
		}
		if letters(out) != letters(p.Plain) {
			return fmt.Errorf("piece %d of %q:\nshows %q\nplain %q\nsent  %q", i, source, out, p.Plain, p.Text)
		}
		if d == SlackMarkdown && signs(out) != signs(p.Plain) {
			return fmt.Errorf("piece %d of %q:\nshows %q\nplain %q\nsent  %q", i, source, out, p.Plain, p.Text)
		}
		plainText.WriteString(p.Plain)
		text.WriteString(out)
	}
	whole := ""
	for _, p := range Render(source, d, Limits{}) {
		whole = p.Plain
	}
	if a, b := signs(plainText.String()), signs(whole); a != b {
		return fmt.Errorf("the pieces of %q are together\n%q\ninstead of\n%q", source, a, b)
	}
	return nil
}
