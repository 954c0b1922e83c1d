package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	prev  rune // what was seen last, or a sign; '\n' where a block can begin
	begun bool // something was written in this line
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
	if r.style&code != 0 && m.tick != "" {
		text, ok := m.ticked(r.text)
		if ok && m.prev != '`' && (!m.edges || isEdge(m.prev) && isEdge(next)) {
			m.WriteString(text)
			m.prev = '`'
			return
		}
	}
	signs := m.signs(r.style)
	lead, body, trail := trim(r.text) // signs have to touch what they format
	prev, after := m.prev, next
	if lead != "" {
		prev = ' '
	}
	if trail != "" {
		after = ' '
	}
	probe := body
	if r.href != "" {
		probe = "<"
	}
	if signs == "" || body == "" || !m.works(signs, probe, prev, after) {
		m.content(r, next)
		return
	}
	m.WriteString(m.text(lead, m.prev, ' '))
	m.WriteString(signs)
	m.prev = '*'
	m.content(run{body, r.attr}, '*')
	m.WriteString(reverse(signs))
	m.WriteString(m.text(trail, ' ', next))
	m.prev = '*'
	if trail != "" {
		m.prev = ' '
	}
}

// content writes r without its signs.
func (m *marks) content(r run, next rune) {
	if r.href != "" {
		m.WriteString(m.link(r.text, r.href))
		m.prev = ')'
		return
	}
	m.WriteString(m.text(r.text, m.prev, next))
	m.prev, _ = utf8.DecodeLastRuneInString(r.text)
}

func (s *syntax) signs(st style) string {
	var b strings.Builder
	if st&strike != 0 {
		b.WriteString(s.strike)
	}
	if st&bold != 0 {
		b.WriteString(s.bold)
	}
	if st&italic != 0 {
		b.WriteString(s.italic)
	}
	return b.String()
}

func trim(s string) (lead, body, trail string) {
	body = strings.TrimSpace(s)
	lead, trail, _ = strings.Cut(s, body)
	return lead, body, trail
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
	first, _ := utf8.DecodeRuneInString(body)
	last, _ := utf8.DecodeLastRuneInString(body)
	if isSign(prev) || isSign(next) || strings.ContainsRune(signs, first) || strings.ContainsRune(signs, last) {
		return false // signs that touch others are taken together
	}
	if m.edges {
		return isEdge(prev) && isEdge(next)
	}
	mixed := strings.Trim(signs, signs[:1]) != ""
	return (isEdge(prev) || isWord(first) && !mixed) && (isEdge(next) || isWord(last) && !mixed)
}

func isSign(r rune) bool { return strings.ContainsRune("*_~", r) }

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
