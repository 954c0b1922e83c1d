package telegramtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Entity is a stretch of a text with a meaning, counted in UTF-16 units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
	User     *User  `json:"user,omitempty"`
}

// units counts a text as the platform does.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// tags are the elements of the HTML dialect and what they become.
var tags = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "span": "spoiler", "tg-spoiler": "spoiler",
	"a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote", "tg-emoji": "custom_emoji",
}

// complaint is an error in the platform's words.
type complaint string

func (c complaint) Error() string { return string(c) }

func complain(format string, args ...any) error { return complaint(fmt.Sprintf(format, args...)) }

// openTag is an element that has begun.
type openTag struct {
	name  string
	value string // the attribute that matters
	at    int    // where it began in the text, in UTF-16 units
	bytes int
}

// htmlParser reads the dialect in one pass. Offsets in its errors are of bytes.
type htmlParser struct {
	in   string
	i    int
	out  strings.Builder
	at   int // UTF-16 units written
	open []openTag
	ents []Entity
}

// parseHTML gives the text that a person sees and its entities, or the platform's complaint.
func parseHTML(in string) (string, []Entity, error) {
	p := &htmlParser{in: in}
	for p.i < len(p.in) {
		var err error
		switch {
		case p.in[p.i] == '&':
			err = p.reference()
		case p.in[p.i] != '<':
			r, n := utf8.DecodeRuneInString(p.in[p.i:])
			p.write(r)
			p.i += n
		case strings.HasPrefix(p.in[p.i:], "</"):
			err = p.end()
		default:
			err = p.start()
		}
		if err != nil {
			return "", nil, err
		}
	}
	if n := len(p.open); n > 0 {
		return "", nil, complain("Can't find end tag corresponding to start tag %q", p.open[n-1].name)
	}
	slices.SortStableFunc(p.ents, func(a, b Entity) int { return a.Offset - b.Offset })
	return p.out.String(), p.ents, nil
}

func (p *htmlParser) write(r rune) {
	p.out.WriteRune(r)
	p.at += utf16.RuneLen(r)
}

func (p *htmlParser) byte() byte {
	if p.i < len(p.in) {
		return p.in[p.i]
	}
	return 0
}

func (p *htmlParser) skip(while func(byte) bool) string {
	from := p.i
	for p.i < len(p.in) && while(p.in[p.i]) {
		p.i++
	}
	return p.in[from:p.i]
}

func isSpace(c byte) bool { return strings.IndexByte(" \t\r\n\v\x00", c) >= 0 }

var (
	numbered = regexp.MustCompile(`^&#(x[0-9a-fA-F]+|[0-9]+);?`)
	named    = regexp.MustCompile(`^&(lt|gt|amp|quot)(?:;|[^A-Za-z]|$)`)
)

// reference reads &…; an unknown one is text.
func (p *htmlParser) reference() error {
	rest := p.in[p.i:]
	if m := numbered.FindStringSubmatch(rest); m != nil {
		digits, base := m[1], 10
		if digits[0] == 'x' {
			digits, base = digits[1:], 16
		}
		n, err := strconv.ParseInt(digits, base, 32)
		switch {
		case err != nil || n == 0 || n > utf8.MaxRune:
		case utf16.IsSurrogate(rune(n)):
			return complain("Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units")
		default:
			p.write(rune(n))
			p.i += len(m[0])
			return nil
		}
	}
	if m := named.FindStringSubmatch(rest); m != nil {
		p.write(map[string]rune{"lt": '<', "gt": '>', "amp": '&', "quot": '"'}[m[1]])
		p.i += 1 + len(m[1])
		if p.byte() == ';' {
			p.i++
		}
		return nil
	}
	p.write('&')
	p.i++
	return nil
}

func (p *htmlParser) start() error {
	begin := p.i
	p.i++
	name := strings.ToLower(p.skip(func(c byte) bool { return !isSpace(c) && c != '>' }))
	if p.i == len(p.in) {
		return complain("Unclosed start tag at byte offset %d", begin)
	}
	if tags[name] == "" {
		return complain("Unsupported start tag %q at byte offset %d", name, begin)
	}
	t := openTag{name: name, at: p.at, bytes: p.out.Len()}
	for {
		p.skip(isSpace)
		if p.byte() == '>' {
			p.i++
			break
		}
		if err := p.attribute(&t, begin); err != nil {
			return err
		}
	}
	if name == "span" && t.value != "tg-spoiler" {
		return complain("Tag \"span\" must have class \"tg-spoiler\" at byte offset %d", begin)
	}
	p.open = append(p.open, t)
	return nil
}

// meaning names the attribute that each element has a use for.
var meaning = map[string]string{"a": "href", "code": "class", "span": "class", "tg-emoji": "emoji-id", "blockquote": "expandable"}

func (p *htmlParser) attribute(t *openTag, begin int) error {
	name := p.skip(func(c byte) bool { return !isSpace(c) && c != '=' && c != '>' })
	if name == "" && p.i < len(p.in) {
		return complain("Empty attribute name in the tag %q at byte offset %d", t.name, begin)
	}
	p.skip(isSpace)
	if p.i == len(p.in) {
		return complain("Unclosed start tag %q at byte offset %d", t.name, begin)
	}
	if p.byte() != '=' {
		if t.name == "blockquote" && name == "expandable" {
			t.value = name
			return nil
		}
		return complain("Expected equal sign in declaration of an attribute of the tag %q at byte offset %d", t.name, begin)
	}
	p.i++
	p.skip(isSpace)
	if p.i == len(p.in) {
		return complain("Unclosed start tag %q at byte offset %d", t.name, begin)
	}
	var value string
	if q := p.byte(); q == '"' || q == '\'' {
		p.i++
		value = p.skip(func(c byte) bool { return c != q })
		if p.i == len(p.in) {
			return complain("Unclosed start tag at byte offset %d", begin)
		}
		p.i++
	} else {
		from := p.i
		value = p.skip(func(c byte) bool {
			return c == '.' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
		})
		if c := p.byte(); !isSpace(c) && c != '>' {
			return complain("Unexpected end of name token at byte offset %d", from)
		}
	}
	if strings.ToLower(name) == meaning[t.name] {
		inner := &htmlParser{in: value}
		for inner.i < len(value) {
			if value[inner.i] != '&' {
				inner.out.WriteByte(value[inner.i])
				inner.i++
			} else if err := inner.reference(); err != nil {
				return err
			}
		}
		t.value = inner.out.String()
	}
	return nil
}

func (p *htmlParser) end() error {
	begin := p.i
	if len(p.open) == 0 {
		return complain("Unexpected end tag at byte offset %d", begin)
	}
	p.i += 2
	name := strings.ToLower(p.skip(func(c byte) bool { return !isSpace(c) && c != '>' }))
	p.skip(isSpace)
	if p.byte() != '>' {
		return complain("Unclosed end tag at byte offset %d", begin)
	}
	p.i++
	t := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if name != "" && name != t.name {
		return complain("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", begin, t.name, name)
	}
	p.close(t)
	return nil
}

// close turns a finished element into its entity.
func (p *htmlParser) close(t openTag) {
	e := Entity{Type: tags[t.name], Offset: t.at, Length: p.at - t.at}
	if e.Length == 0 {
		return
	}
	switch t.name {
	case "a":
		e.URL = t.value
		if e.URL == "" {
			e.URL = p.out.String()[t.bytes:]
		}
		if !strings.Contains(e.URL, ".") && !strings.HasPrefix(e.URL, "tg://") {
			return // not an address: only the text stays
		}
	case "blockquote":
		if t.value != "" {
			e.Type = "expandable_blockquote"
		}
	case "code":
		lang, ok := strings.CutPrefix(t.value, "language-")
		if n := len(p.open); ok && n > 0 && p.open[n-1].name == "pre" && p.open[n-1].at == t.at {
			p.open[n-1].value = lang
			return
		}
	case "pre":
		e.Language = t.value
	}
	p.ents = append(p.ents, e)
}
