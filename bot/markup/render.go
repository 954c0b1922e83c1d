package markup

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
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
			b.WriteString(map[bool]string{true: "<blockquote>", false: "</blockquote>"}[q])
			quoted = q
		}
		open, end := tags(r.attr)
		b.WriteString(open)
		if r.style&(code|pre) != 0 {
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

// syntax is a dialect that formats with signs around words and before lines.
// A sign that is not there is an empty string.
type syntax struct {
	bold, italic, strike string
	fence                string
	lang                 bool // a fence names its language
	tick                 string
	doubleTick           bool // code may stand between two ticks
	bullets              bool // "- " starts a list item and indentation nests it
	// edges says that signs work only between white space and punctuation;
	// otherwise CommonMark's rules decide.
	edges bool
	// text makes a part of a line literal that stands between prev and next.
	text func(s string, prev, next rune) string
	code func(string) string
	link func(text, href string) string
}

var (
	plain = syntax{
		text: func(s string, _, _ rune) string { return s },
		code: func(s string) string { return s },
		link: withAddress,
	}
	mrkdwn = syntax{
		bold: "*", italic: "_", strike: "~", fence: "```", tick: "`", edges: true,
		text: escapeMrkdwn,
		code: escapeEntities,
		link: func(text, href string) string {
			if text == href {
				return "<" + escapeEntities(href) + ">"
			}
			return "<" + escapeEntities(href) + "|" + escapeMrkdwn(text, '|', '>') + ">"
		},
	}
	slackMarkdown = syntax{
		bold: "**", italic: "*", strike: "~~", fence: "```", lang: true, tick: "`", doubleTick: true, bullets: true,
		text: escapeSlackMarkdown,
		code: breakSlackMentions,
		link: func(text, href string) string {
			if text == href {
				return "<" + href + ">"
			}
			return "[" + escapeSlackMarkdown(text, 'x', ']') + "](" + href + ")"
		},
	}
	discord = syntax{
		bold: "**", italic: "*", strike: "~~", fence: "```", lang: true, tick: "`", doubleTick: true, bullets: true,
		text: escapeDiscord,
		code: func(s string) string { return s },
		link: func(text, href string) string {
			if text == href {
				return "<" + href + ">"
			}
			return "[" + escapeDiscord(text, 'x', ']') + "](<" + href + ">)" // <> keeps it from unfolding
		},
	}
)

// unknown is the indentation of a line that is not known.
const unknown = 1 << 30

// marks writes runs in a syntax.
type marks struct {
	*syntax
	strings.Builder
	prev   rune // what was seen last, or a sign; '\n' where a block can begin
	begun  bool // something was written in this line
	// dedent is what is left out of the indentation: a piece may begin, and a
	// block may end, in the middle of a list, and four spaces mean code there.
	dedent int
	quoted bool
}

func renderMarks(runs []run, s *syntax) string {
	m := marks{syntax: s, prev: '\n', dedent: unknown}
	for i, r := range runs {
		next := '\n'
		if i+1 < len(runs) {
			next = m.firstSeen(runs[i+1])
		}
		if r.style&pre != 0 {
			m.block(r)
			continue
		}
		for {
			line, rest, more := strings.Cut(r.text, "\n")
			after := next
			if more {
				after = '\n'
			}
			m.line(run{line, r.attr}, after, more)
			if !more {
				break
			}
			r.text = rest
			m.WriteByte('\n')
			m.prev, m.begun = '\n', false
		}
	}
	return m.String()
}

// firstSeen is the first character of what r will be written as, or a letter
// where that is not sure.
func (m *marks) firstSeen(r run) rune {
	if r.href != "" {
		return '<'
	}
	if _, ok := m.ticked(r.text); ok && r.style&code != 0 && !m.edges {
		return '`'
	}
	c, _ := utf8.DecodeRuneInString(r.text)
	return c
}

func (m *marks) block(r run) {
	if m.begun {
		m.WriteByte('\n')
	}
	text := m.code(r.text)
	if m.fence != "" {
		if strings.Contains(text, m.fence) { // no three ticks in a row are left
			text = strings.ReplaceAll(text, "``", "`"+zeroWidth+"`")
		}
		lang := r.lang
		if !m.lang {
			lang = ""
		}
		text = m.fence + lang + "\n" + text + "\n" + m.fence
	}
	m.WriteString(text)
	m.prev, m.begun, m.dedent = '`', true, unknown
}

// line writes r, which has no newline; ends tells that the line ends with it.
func (m *marks) line(r run, next rune, ends bool) {
	if r.text == "" && !ends {
		return
	}
	if !m.begun {
		if q := r.style&quote != 0; q != m.quoted {
			m.quoted, m.dedent = q, unknown
		}
		if r.text != "" && r.style&indent == 0 && (m.Len() > 0 || r.style&marker != 0) {
			m.dedent = 0
		}
		if m.quoted {
			m.WriteString("> ")
		}
		m.begun = true
	}
	switch {
	case r.text == "":
	case r.style&indent != 0:
		m.indent(r.text)
	case r.style&marker != 0:
		m.marker(r.text)
	default:
		m.styled(r, next)
	}
}

func (m *marks) indent(spaces string) {
	if m.bullets {
		m.dedent = min(m.dedent, len(spaces))
		spaces = spaces[m.dedent:]
	}
	m.WriteString(spaces) // and prev stays a newline
}

func (m *marks) marker(s string) {
	if m.bullets && (s[0] < '0' || s[0] > '9') { // bullets and boxes
		s = "- " + strings.TrimPrefix(s, "• ")
	}
	m.WriteString(s)
	m.prev = '\n' // what follows can start a block of its own
}

// styled writes r between its signs, or without them where they would not work.
func (m *marks) styled(r run, next rune) {
	var signs string
	for _, s := range []struct {
		style style
		sign  string
	}{{strike, m.strike}, {bold, m.bold}, {italic, m.italic}} {
		if r.style&s.style != 0 {
			signs += s.sign
		}
	}
	body := strings.TrimSpace(r.text)
	start := strings.Index(r.text, body)
	lead, trail := r.text[:start], r.text[start+len(body):]

	if r.style&code != 0 && m.tick != "" {
		text, ok := m.ticked(r.text)
		if ok && m.prev != '`' && (!m.edges || isEdge(m.prev) && isEdge(next)) {
			m.WriteString(text)
			m.prev = '`'
			return
		}
	}
	prev := m.prev
	if lead != "" {
		prev = ' '
	}
	if trail != "" {
		next = ' '
	}
	probe := body
	if r.href != "" {
		probe = "<"
	}
	if signs == "" || body == "" || !m.works(signs, probe, prev, next) {
		if r.href != "" {
			m.WriteString(m.link(r.text, r.href))
			m.prev = ')'
		} else {
			m.WriteString(m.text(r.text, m.prev, next))
			m.prev, _ = utf8.DecodeLastRuneInString(r.text)
		}
		return
	}
	m.WriteString(m.text(lead, m.prev, ' '))
	m.WriteString(signs)
	if r.href != "" {
		m.WriteString(m.link(body, r.href))
	} else {
		sign := rune(signs[0])
		m.WriteString(m.text(body, sign, sign))
	}
	m.WriteString(reverse(signs))
	m.WriteString(m.text(trail, ' ', next))
	m.prev = '*'
	if trail != "" {
		m.prev = ' '
	}
}

// ticked returns s as code within a line, if it can be.
func (m *marks) ticked(s string) (string, bool) {
	text := m.code(s)
	if !strings.Contains(s, m.tick) {
		return m.tick + text + m.tick, strings.TrimSpace(s) != ""
	}
	double := m.tick + m.tick
	return double + " " + text + " " + double, m.doubleTick && !strings.Contains(s, double)
}

// works reports whether signs around body format it between prev and next.
func (m *marks) works(signs, body string, prev, next rune) bool {
	if strings.ContainsRune("*_~", prev) || strings.ContainsRune("*_~", next) {
		return false // signs that touch are taken for one
	}
	if m.edges {
		return isEdge(prev) && isEdge(next)
	}
	first, _ := utf8.DecodeRuneInString(body)
	last, _ := utf8.DecodeLastRuneInString(body)
	mixed := strings.Trim(signs, signs[:1]) != ""
	return (isEdge(prev) || isWord(first) && !mixed) && (isEdge(next) || isWord(last) && !mixed)
}

// isEdge reports whether every platform takes r for the border of a word. The
// symbols and the punctuation of East Asia are not: tried in Slack by others.
func isEdge(r rune) bool {
	return unicode.IsSpace(r) || r < 0x80 && r != '_' && !isWord(r) || r >= '\u2010' && r <= '\u2027'
}

func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N)
}

func reverse(signs string) string {
	b := []byte(signs)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
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
