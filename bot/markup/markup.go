// Package markup turns Markdown, as models write it, into what a chat platform
// takes: its dialect of markup, in pieces that obey its limits.
//
// Markdown is parsed once and flattened into one string of visible text with
// attributes on stretches of it. A piece is a stretch of that string, rendered
// by itself, so whatever a cut goes through is closed before it and opened
// again after it. No platform is named here: a dialect and its limits are data
// that an adapter declares.
package markup

import (
	"strings"
	"unicode/utf8"
)

// Dialect is the markup that a platform's messages are written in.
type Dialect string

// The dialects. Content, whatever it holds, is literal in all of them, with
// one gap: emoji codes such as :tada: are left to the platform.
const (
	// Plain has no markup at all; an address follows the text of its link.
	Plain Dialect = "plain"
	// HTML is the subset of HTML with b, i, s, code, pre, a and blockquote.
	// A zero-width space after @ keeps content from naming an account.
	HTML Dialect = "html"
	// Mrkdwn has *bold*, _italic_, ~strike~ and <address|text>. It escapes
	// only &, < and >; other signs of content that could format are kept apart
	// from their text by a zero-width space.
	Mrkdwn Dialect = "mrkdwn"
	// SlackMarkdown is standard Markdown in which &, < and > of content are
	// entities, so that no <!channel> or <@U1> is left in it.
	SlackMarkdown Dialect = "slackmarkdown"
	// Discord is Markdown without entities. Mentions in text are broken with a
	// zero-width space; code is left as it is, for people copy it, so senders
	// must also allow no mentions.
	Discord Dialect = "discord"
)

// Unit is what a platform counts the length of a message in.
type Unit string

// The units.
const (
	UTF16 Unit = "utf16" // UTF-16 code units
	Rune  Unit = "rune"  // Unicode code points
	Byte  Unit = "byte"  // bytes of UTF-8
)

// Limits is the most that one message may hold.
type Limits struct {
	Unit Unit
	// Max is the longest message, markup included. Zero or less means no
	// limit. Below minMarkup pieces carry no markup; below minPiece it is
	// taken as minPiece.
	Max int
}

const (
	minPiece  = 16
	minMarkup = 128
)

// Piece is one message's worth of content.
type Piece struct {
	// Text is in the dialect and complete by itself: all that it opens it closes.
	Text string
	// Plain is the same content without markup, for when the platform refuses
	// Text. It is not escaped: where even unformatted text can hold commands,
	// send it through Escape.
	Plain string
}

// Render returns source in the dialect d, in order, in pieces of at most l as
// sent and as seen. No piece is empty or blank; blank source gives none. Cuts
// prefer the ends of blocks, lines, sentences and words, never fall into a link
// or an escape, and into a grapheme cluster only when it alone is longer than
// l. White space at a cut is dropped.
func Render(source string, d Dialect, l Limits) []Piece {
	if l.Max > 0 {
		l.Max = max(l.Max, minPiece)
	}
	doc := parse(source, d, l)
	if l.Max > 0 && l.Max < minMarkup {
		for i := range doc.runs {
			doc.runs[i].attr = attr{style: doc.runs[i].style & (marker | indent)}
		}
	}
	return doc.split(d, l)
}

// Escape returns text as literal content of d: nothing in it formats or pings.
// It is safe at the start of a line and between letters. Control characters are
// shown as Visible shows them.
func Escape(text string, d Dialect) string {
	return render([]run{{text: controls(text)}}, d)
}

// CodeBlock returns text as a block of code in d that the text cannot close.
// lang names its language where d can tell it and may be empty. The block is to
// stand on lines of its own.
func CodeBlock(text, lang string, d Dialect) string {
	text = strings.TrimSuffix(controls(text), "\n")
	return render([]run{{text: text, attr: attr{style: pre, lang: language(lang)}}}, d)
}

// Len returns the length of s in u.
func Len(s string, u Unit) int {
	switch u {
	case Byte:
		return len(s)
	case UTF16:
		n := 0
		for _, r := range s {
			n++
			if r > 0xFFFF {
				n++
			}
		}
		return n
	default:
		return utf8.RuneCountInString(s)
	}
}
