package markup

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
)

// render writes runs in d as a message of its own.
func render(runs []run, d Dialect) string {
	switch d {
	case HTML:
		return renderHTML(runs)
	case Mrkdwn:
		return renderMarks(runs, &mrkdwn)
	case SlackMarkdown:
		return renderMarks(runs, &slackMarkdown)
	case Discord:
		return renderMarks(runs, &discord)
	default:
		return renderMarks(runs, &plain)
	}
}

func renderHTML(runs []run) string {
	var b strings.Builder
	quoted := false
	for _, r := range runs {
		if q := r.style&quote != 0; q != quoted {
			quoted = q
			if quoted {
				b.WriteString("<blockquote>")
			} else {
				b.WriteString("</blockquote>")
			}
		}
		open, end := tags(r.attr)
		b.WriteString(open)
		if r.style&(code|pre) != 0 || r.href != "" { // no names are looked for there
			b.WriteString(escapeEntities(r.text))
		} else {
			b.WriteString(escapeHTML(r.text))
		}
		b.WriteString(end)
	}
	if quoted {
		b.WriteString("</blockquote>")
	}
	return b.String()
}

func tags(a attr) (open, end string) {
	wrap := func(tag, attributes string) {
		open += "<" + tag + attributes + ">"
		end = "</" + tag + ">" + end
	}
	if a.href != "" {
		wrap("a", ` href="`+escapeEntities(a.href)+`"`)
	}
	if a.style&bold != 0 {
		wrap("b", "")
	}
	if a.style&italic != 0 {
		wrap("i", "")
	}
	if a.style&strike != 0 {
		wrap("s", "")
	}
	if a.style&pre != 0 {
		wrap("pre", "")
	}
	if a.style&pre != 0 && a.lang != "" {
		wrap("code", ` class="language-`+a.lang+`"`)
	}
	if a.style&code != 0 {
		wrap("code", "")
	}
	return open, end
}

// address returns where a link leads, safe to put into any dialect, and
// whether it may be followed.
func address(dest string) (string, bool) {
	u, err := url.Parse(dest)
	ok := err == nil
	if ok {
		switch strings.ToLower(u.Scheme) {
		case "http", "https":
			ok = u.Host != ""
		case "mailto":
			ok = u.Opaque != ""
		default:
			ok = false
		}
	}
	if !ok {
		return dest, false
	}
	var b strings.Builder
	for _, r := range dest {
		if strings.ContainsRune("<>\"'`\\^{|}()", r) || !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String(), true
}
