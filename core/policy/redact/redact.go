// Package redact replaces secrets in text: the values that the bot holds itself, in every usual encoding, and what has
// the shape of a token. It is a courtesy to the reader and no barrier: a child process never has a secret to print.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Values shorter than these are left alone: plain, they would hide ordinary words, encoded, ordinary letters.
const (
	minPlain   = 4
	minEncoded = 8
)

// Redactor replaces secrets. It is safe for concurrent use.
type Redactor struct {
	needles []needle // longest first
	overlap int
}

// needle is one text that stands for a secret.
type needle struct {
	text, mark string
}

// New returns a redactor for the secrets with the given names and values.
func New(secrets map[string]string) *Redactor {
	r := &Redactor{overlap: maxShape}
	for name, value := range secrets {
		if len(value) < minPlain {
			continue
		}
		for _, text := range encodings(value) {
			r.needles = append(r.needles, needle{text, "[hidden:" + name + "]"})
			r.overlap = max(r.overlap, len(text))
		}
	}
	slices.SortFunc(r.needles, func(a, b needle) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return strings.Compare(a.text+a.mark, b.text+b.mark)
	})
	return r
}

// encodings returns value as it may be found in text: plain, as URLs, JSON, hex and base64 write it.
func encodings(value string) []string {
	out := []string{value}
	if len(value) < minEncoded {
		return out
	}
	quoted, err := json.Marshal(value)
	if err == nil {
		out = append(out, strings.Trim(string(quoted), `"`))
	}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value), escapeAll(value)} {
		out = append(out, escaped, lowerEscapes(escaped))
	}
	low := hex.EncodeToString([]byte(value))
	out = append(out, low, strings.ToUpper(low))
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			out = append(out, shifted(alphabet, value, shift))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// escapeAll writes everything but letters and digits with percent signs, as some tools do.
func escapeAll(value string) string {
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteString(strings.ToUpper(hex.EncodeToString([]byte{c})))
	}
	return b.String()
}

// lowerEscapes writes the escapes of a URL with small letters.
func lowerEscapes(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// shifted returns the base64 letters that value makes for sure when shift bytes stand in front of it in a longer text.
func shifted(e *base64.Encoding, value string, shift int) string {
	text := e.EncodeToString([]byte(strings.Repeat("\x00", shift) + value))
	// letters at either end share their bits with the neighbours
	from := []int{0, 2, 3}[shift]
	to := len(text)
	if (shift+len(value))%3 != 0 {
		to--
	}
	return text[from:to]
}

// span is a piece of text to be replaced.
type span struct {
	from, to int
	mark     string
}

// String returns text without secrets. Characters that belong to no secret stay as they are.
func (r *Redactor) String(text string) string {
	spans := r.spans(text)
	if len(spans) == 0 {
		return text
	}
	return replace(text, spans)
}

func replace(text string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(s.mark)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// spans returns what is to be replaced in order and without overlap. What a known value shares with another secret is
// hidden under the name of the first.
func (r *Redactor) spans(text string) []span {
	var found []span
	for _, n := range r.needles {
		for at := 0; ; {
			i := strings.Index(text[at:], n.text)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(n.text), n.mark})
			at += i + len(n.text)
		}
	}
	found = append(found, shapes(text)...)
	slices.SortStableFunc(found, func(a, b span) int { return a.from - b.from })
	var out []span
	for _, s := range found {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Stream redacts text that comes in pieces. A piece is held back for as long as a secret might go on in the next one.
// It is not safe for concurrent use.
type Stream struct {
	r    *Redactor
	rest string
}

// Stream returns a new stream.
func (r *Redactor) Stream() *Stream { return &Stream{r: r} }

// Write takes a piece and returns the text that is ready, without secrets.
func (s *Stream) Write(piece string) string {
	s.rest += piece
	cut := len(s.rest) - s.r.overlap
	if cut <= 0 {
		return ""
	}
	var ready []span
	for _, sp := range s.r.spans(s.rest) {
		if sp.from >= cut {
			break
		}
		if sp.to > cut {
			cut = sp.from
			break
		}
		ready = append(ready, sp)
	}
	// a secret longer than any shape is not waited for
	if cut == 0 && len(s.rest) > 4*s.r.overlap {
		return s.Close()
	}
	out := replace(s.rest[:cut], ready)
	s.rest = s.rest[cut:]
	return out
}

// Close returns what was held back. The stream can be used again.
func (s *Stream) Close() string {
	out := s.r.String(s.rest)
	s.rest = ""
	return out
}
