package word

import "strings"

// Piece is a part of a word after expansion.
type Piece struct {
	Text    string
	Quoted  bool
	Unknown bool // what it becomes is not known
	Many    bool // Unknown, and it becomes any number of words even within quotes
	Numeric bool // Unknown, but digits
}

// Assemble makes words of pieces; split tells whether the shell splits and looks for files.
func Assemble(pieces []Piece, split bool) []Word {
	var out []Word
	var plain, glob strings.Builder // the text so far, and the same as a pattern
	some, meta, open := false, false, false
	flush := func() {
		if !some {
			return
		}
		w := Lit(plain.String())
		if meta {
			w = Word{Kind: Glob, Text: glob.String()}
		}
		out = append(out, w)
		plain.Reset()
		glob.Reset()
		some, meta, open = false, false, false
	}
	for i, p := range pieces {
		if p.Unknown {
			return append(out, unknownWord(plain.String(), meta || open, pieces[i:], split))
		}
		if p.Quoted || !split {
			some = some || p.Quoted || p.Text != ""
			plain.WriteString(p.Text)
			glob.WriteString(escapeGlob(p.Text))
			continue
		}
		for j, field := range fields(p.Text) {
			if j > 0 {
				flush()
			}
			if field == "" {
				continue
			}
			some = true
			plain.WriteString(field)
			meta = meta || strings.ContainsAny(field, "*?") || open && strings.Contains(field, "]")
			if at := strings.IndexByte(field, '['); at >= 0 {
				open, meta = true, meta || strings.Contains(field[at:], "]")
			}
			glob.WriteString(strings.ReplaceAll(field, `\`, `\\`))
		}
	}
	flush()
	return out
}

// unknownWord is the word that begins with head and goes on with pieces of which the first is not known.
func unknownWord(head string, meta bool, pieces []Piece, split bool) Word {
	w := Word{Kind: Open, Text: head}
	for _, p := range pieces {
		if p.Many || split && p.Unknown && !p.Quoted || split && !p.Quoted && !p.Unknown && strings.ContainsAny(p.Text, "*?[ \t\n") {
			w.Kind = Many
		}
	}
	if meta {
		w.Kind = Many
		if i := strings.IndexAny(head, "*?["); i >= 0 {
			w.Text = head[:i]
		}
	}
	w.Numeric = len(pieces) == 1 && pieces[0].Numeric && w.Kind == Open && head == ""
	return w
}

// fields splits text at blanks as the shell does; a blank at either end makes an empty field there.
func fields(text string) []string {
	if !strings.ContainsAny(text, " \t\n") {
		return []string{text}
	}
	blanks := func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }
	out := strings.FieldsFunc(text, blanks)
	if strings.IndexFunc(text, blanks) == 0 {
		out = append([]string{""}, out...)
	}
	if last := text[len(text)-1]; blanks(rune(last)) {
		out = append(out, "")
	}
	return out
}

func escapeGlob(text string) string {
	if !strings.ContainsAny(text, `*?[\`) {
		return text
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}
