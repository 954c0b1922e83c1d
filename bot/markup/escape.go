package markup

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// zeroWidth stands where a sign has to be kept apart from what gives it a
// meaning and the dialect knows no escape.
const zeroWidth = "\u200B"

func escapeHTML(s string) string {
	if !strings.Contains(s, "@") {
		return escapeEntities(s)
	}
	return breakAccounts.ReplaceAllString(escapeEntities(s), "$1@"+zeroWidth+"$2")
}

// breakAccounts finds @name, but not the middle of a mail address.
var breakAccounts = regexp.MustCompile(`(^|[^\pL\pN._])@([A-Za-z])`)

// escapeEntities escapes the three characters that HTML and Slack share.
func escapeEntities(s string) string { return entities.Replace(s) }

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escapeMrkdwn also keeps *, _, ~ and ` of content from formatting. They do so
// only at the borders of words, so most names and paths stay as they are.
func escapeMrkdwn(s string, prev, next rune) string {
	var b strings.Builder
	for i, r := range s {
		after := next
		if rest := s[i+utf8.RuneLen(r):]; rest != "" {
			after, _ = utf8.DecodeRuneInString(rest)
		}
		switch {
		case r == '>' && prev == '\n':
			b.WriteString(zeroWidth + "&gt;")
		case strings.ContainsRune("*_~`", r):
			closes := !isSpace(prev) && !isWord(after)
			opens := !isSpace(after) && !isWord(prev) && !(r == '~' && after == '/')
			if closes {
				b.WriteString(zeroWidth)
			}
			b.WriteRune(r)
			if opens {
				b.WriteString(zeroWidth)
			}
		default:
			b.WriteString(escapeEntities(string(r)))
		}
		prev = r
	}
	return b.String()
}

func isSpace(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }

// escapeSlackMarkdown escapes what Markdown gives a meaning to.
func escapeSlackMarkdown(s string, prev, _ rune) string {
	var b strings.Builder
	head := true // nothing but digits yet: it may be the start of a line
	for i, r := range s {
		switch {
		case isSpace(r) && prev == '\n':
			b.WriteString("\u00A0") // spaces before a line would make it code
			continue
		case r == '&' || r == '<' || r == '>':
			b.WriteString(escapeEntities(string(r)))
		case strings.ContainsRune("\\`*_~|[]", r),
			head && strings.ContainsRune("#-+=:.)", r),
			r == '!' && i == len(s)-1: // a link may follow
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ':' && strings.HasPrefix(s[i:], "://"): // no link but our own
			b.WriteString(`:\`)
		default:
			b.WriteRune(r)
		}
		head = head && r >= '0' && r <= '9'
		prev = r
	}
	return b.String()
}

// breakSlackMentions is for code, where entities would be shown as they are.
func breakSlackMentions(s string) string {
	return slackMention.ReplaceAllString(s, "<"+zeroWidth+"$1")
}

var slackMention = regexp.MustCompile(`<(@|#[CG]|!(?:channel|here|everyone|subteam|date))`)

// escapeDiscord escapes what Discord gives a meaning to, addresses included.
func escapeDiscord(s string, prev, _ rune) string {
	var b strings.Builder
	head := true
	for i, r := range s {
		switch {
		case strings.ContainsRune("\\`*_~|[]<>", r),
			head && strings.ContainsRune("#-+.)", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ':' && strings.HasPrefix(s[i:], "://"):
			b.WriteString(`:\`)
		case r == '@' && discordMention.MatchString(s[i:]):
			b.WriteString("@" + zeroWidth)
		default:
			b.WriteRune(r)
		}
		head = head && (r >= '0' && r <= '9' || prev == '\n' && isSpace(r))
		if !(prev == '\n' && isSpace(r)) {
			prev = r
		}
	}
	return b.String()
}

var discordMention = regexp.MustCompile(`^@(?i:everyone|here|[!&0-9])`)
