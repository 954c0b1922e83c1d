package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"paragents/core/policy/word"
)

// piece is a part of a word after expansion.
type piece struct {
	text    string
	quoted  bool
	unknown bool
	many    bool // unknown, and any number of words even within quotes
	numeric bool // unknown, but digits

}

// maxBraces bounds the words that braces make of one.
const maxBraces = 64

// words expands a word of a command line into arguments.
func (w *walker) words(s *state, src *syntax.Word) []word.Word {
	var out []word.Word
	for _, one := range w.braces(src) {
		out = append(out, assemble(w.pieces(s, one.Parts, false, true), true)...)
	}
	for i := range out {
		if out[i].Kind == word.Glob {
			out[i].Dashed = w.globDashed(s, out[i].Text)
		}
	}
	return out
}

// single expands a word where the shell neither splits nor looks for files: assignments, case, here-strings.
func (w *walker) single(s *state, src *syntax.Word) word.Word {
	if src == nil {
		return word.Lit("")
	}
	pieces := w.pieces(s, src.Parts, false, true)
	for i := range pieces {
		pieces[i].quoted = true
		pieces[i].many = false
	}
	out := assemble(pieces, false)
	if len(out) == 0 {
		return word.Lit("")
	}
	return out[0]
}

// braces returns the words that brace expansion makes of one.
func (w *walker) braces(src *syntax.Word) []*syntax.Word {
	has := false
	for _, p := range src.Parts {
		switch p := p.(type) {
		case *syntax.BraceExp:
			has = true
		case *syntax.Lit:
			has = has || strings.Contains(p.Value, "{")
		}
	}
	if !has || w.posix {
		return []*syntax.Word{src}
	}
	split := &syntax.Word{Parts: append([]syntax.WordPart(nil), src.Parts...)}
	syntax.SplitBraces(split)
	has = false
	for _, p := range split.Parts {
		_, brace := p.(*syntax.BraceExp)
		has = has || brace
	}
	if !has {
		if strings.ContainsAny(src.Lit(), ",.") && strings.Contains(src.Lit(), "{") {
			w.doubt("odd braces are not analysed")
		}
		return []*syntax.Word{src}
	}
	count, plain := countBraces(split)
	if !plain {
		w.doubt("braces with ranges, quotes or variables in them are not analysed")
	}
	if count > maxBraces || count == 0 {
		w.doubt("the braces make too many words")
		return []*syntax.Word{src}
	}
	return expand.Braces(split)
}

// countBraces returns how many words the braces of w make, 0 for very many, and whether they hold plain words only.
func countBraces(w *syntax.Word) (count int, plain bool) {
	count, plain = 1, true
	for _, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			if lit, ok := p.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, `{}\`) {
				plain = false
			}
			continue
		}
		if b.Sequence {
			return 0, false
		}
		sum := 0
		for _, e := range b.Elems {
			n, ok := countBraces(e)
			for _, p := range e.Parts {
				if _, lit := p.(*syntax.Lit); !lit {
					ok = false
				}
			}
			if n == 0 {
				return 0, false
			}
			plain = plain && ok
			sum += n
		}
		if count *= sum; count > maxBraces {
			return 0, plain
		}
	}
	return count, plain
}

// pieces expands the parts of a word. Commands within it are walked.
func (w *walker) pieces(s *state, parts []syntax.WordPart, quoted, start bool) []piece {
	var out []piece
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if quoted {
				out = append(out, piece{text: unescapeDouble(p.Value), quoted: true})
				continue
			}
			out = append(out, w.literal(s, p.Value, start && i == 0, len(parts) == 1)...)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				var ok bool
				if text, ok = unescapeAnsi(text); !ok {
					w.doubt("a quoted NUL is not analysed")
				}
			}
			out = append(out, piece{text: text, quoted: true})
		case *syntax.DblQuoted:
			out = append(out, piece{quoted: true})
			out = append(out, w.pieces(s, p.Parts, true, false)...)
		case *syntax.ParamExp:
			out = append(out, w.param(s, p, quoted)...)
		case *syntax.CmdSubst:
			w.stmts(s.clone(), p.Stmts)
			out = append(out, piece{unknown: true, quoted: quoted})
		case *syntax.ArithmExp:
			w.arithm(s, p.X)
			out = append(out, piece{unknown: true, numeric: true, quoted: true})
		case *syntax.ProcSubst:
			w.procSubst(s, p)
			if len(parts) > 1 {
				w.doubt("a process substitution within a word is not analysed")
			}
			out = append(out, piece{text: "/dev/fd/63", quoted: true})
		default:
			w.doubt("the command uses a part of the shell language that is not analysed")
			out = append(out, piece{unknown: true, many: true})
		}
	}
	return out
}

// literal expands an unquoted literal: backslashes, a tilde in front, patterns.
func (w *walker) literal(s *state, text string, start, whole bool) []piece {
	var out []piece
	if start && strings.HasPrefix(text, "~") {
		name, rest := text, ""
		if i := strings.IndexByte(text, '/'); i >= 0 {
			name, rest = text[:i], text[i:]
		} else if !whole {
			name = "" // ~"x" is no home
		}
		home, known := w.lookup(s, "HOME")
		switch {
		case name == "~" && known && home.Kind == word.Known:
			out, text = append(out, piece{text: home.Text, quoted: true}), rest
		case name != "":
			out, text = append(out, piece{unknown: true, quoted: true}), rest
		}
	} else if name, value, ok := strings.Cut(text, "=~"); start && ok && !w.posix && syntax.ValidName(name) {
		home, known := w.lookup(s, "HOME")
		if known && home.Kind == word.Known && (value == "" || value[0] == '/') {
			out, text = append(out, piece{text: name + "=" + home.Text, quoted: true}), value
		} else {
			out, text = append(out, piece{text: name + "=", quoted: true}, piece{unknown: true, quoted: true}), value
		}
	}
	var b strings.Builder
	flush := func(quoted bool) {
		if b.Len() > 0 {
			out = append(out, piece{text: b.String(), quoted: quoted})
			b.Reset()
		}
	}
	for {
		i := strings.IndexByte(text, '\\')
		if i < 0 || i+1 >= len(text) {
			b.WriteString(text)
			flush(false)
			return out
		}
		b.WriteString(text[:i])
		flush(false)
		if text[i+1] != '\n' {
			b.WriteByte(text[i+1])
			flush(true)
		}
		text = text[i+2:]
	}
}

// param expands $name and ${name…}.
func (w *walker) param(s *state, p *syntax.ParamExp, quoted bool) []piece {
	unknown := piece{unknown: true, quoted: quoted}
	if p.Param == nil {
		unknown.many = true
		return []piece{unknown}
	}
	name := p.Param.Value
	if name == "@" || name == "*" {
		unknown.many = name == "@" || !quoted
	}
	if p.Length || (name == "#" || name == "?" || name == "$") && p.Exp == nil {
		return []piece{{unknown: true, numeric: true, quoted: true}}
	}
	value, known := w.lookup(s, name)
	if p.Exp != nil {
		return w.paramExp(s, p, unknown, value, known)
	}
	if p.Index != nil || p.Slice != nil || p.Repl != nil || p.Excl || p.Names != 0 {
		unknown.many = true
		w.operands(s, p)
		return []piece{unknown}
	}
	switch {
	case known && value.Kind == word.Known:
		return []piece{{text: value.Text, quoted: quoted}}
	case known && value.Numeric:
		return []piece{{unknown: true, numeric: true, quoted: true}}
	}
	return []piece{unknown}
}

// paramExp expands ${name-word} and its relatives.
func (w *walker) paramExp(s *state, p *syntax.ParamExp, unknown piece, value word.Word, known bool) []piece {
	if p.Exp.Word != nil {
		w.single(s, p.Exp.Word)
		if len(p.Exp.Word.Parts) > 0 {
			unknown.many = unknown.many || !unknown.quoted
		}
	}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		delete(s.vars, p.Param.Value)
		w.assigned(s, p.Param.Value, word.Word{Kind: word.Open}, false)
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if known && value.Kind == word.Known && value.Text != "" {
			return []piece{{text: value.Text, quoted: unknown.quoted}}
		}
	}
	return []piece{unknown}
}

// operands walks what stands inside an expansion that is not analysed, for the sake of deny rules.
func (w *walker) operands(s *state, p *syntax.ParamExp) {
	if p.Repl != nil {
		w.single(s, p.Repl.Orig)
		w.single(s, p.Repl.With)
	}
	if p.Index != nil {
		w.arithm(s, p.Index)
	}
	if p.Slice != nil {
		w.arithm(s, p.Slice.Offset)
		w.arithm(s, p.Slice.Length)
	}
}

// arithm walks an arithmetic expression. Bash evaluates the text of variables in it again, so each must be a number.
func (w *walker) arithm(s *state, x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		w.arithmWord(s, x)
	case *syntax.ParenArithm:
		w.arithm(s, x.X)
	case *syntax.UnaryArithm:
		w.arithm(s, x.X)
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			w.arithmSet(s, x.X)
		}
	case *syntax.BinaryArithm:
		assigns := assignsArithm(x.Op)
		if !assigns || x.Op != syntax.Assgn {
			w.arithm(s, x.X)
		}
		w.arithm(s, x.Y)
		if assigns {
			w.arithmSet(s, x.X)
		}
	default:
		w.doubt("this form of arithmetic is not analysed")
	}
}

func (w *walker) arithmWord(s *state, x *syntax.Word) {
	if name := x.Lit(); name != "" {
		if digits(name) {
			return
		}
		if v, ok := w.lookup(s, name); ok && syntax.ValidName(name) && number(v) {
			return
		}
	} else {
		v := w.single(s, x)
		if v.Numeric && v.Text == "" || v.Kind == word.Known && digits(v.Text) {
			return
		}
	}
	w.doubt("text that is no plain number is evaluated as arithmetic")
}

func (w *walker) arithmSet(s *state, x syntax.ArithmExpr) {
	target, ok := x.(*syntax.Word)
	if !ok || !syntax.ValidName(target.Lit()) {
		w.doubt("this form of arithmetic is not analysed")
		return
	}
	w.assigned(s, target.Lit(), word.Word{Kind: word.Open, Numeric: true}, false)
}

func assignsArithm(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// assemble makes words of pieces; split tells whether the shell splits and looks for files.
func assemble(pieces []piece, split bool) []word.Word {
	var out []word.Word
	var plain, glob strings.Builder // the text so far, and the same as a pattern
	some, meta, open := false, false, false
	flush := func() {
		if !some {
			return
		}
		w := word.Lit(plain.String())
		if meta {
			w = word.Word{Kind: word.Glob, Text: glob.String()}
		}
		out = append(out, w)
		plain.Reset()
		glob.Reset()
		some, meta, open = false, false, false
	}
	for i, p := range pieces {
		if p.unknown {
			return append(out, unknownWord(plain.String(), meta || open, pieces[i:], split))
		}
		if p.quoted || !split {
			some = some || p.quoted || p.text != ""
			plain.WriteString(p.text)
			glob.WriteString(escapeGlob(p.text))
			continue
		}
		for j, field := range fields(p.text) {
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
func unknownWord(head string, meta bool, pieces []piece, split bool) word.Word {
	w := word.Word{Kind: word.Open, Text: head}
	for _, p := range pieces {
		if p.many || split && p.unknown && !p.quoted || split && !p.quoted && !p.unknown && strings.ContainsAny(p.text, "*?[ \t\n") {
			w.Kind = word.Many
		}
	}
	if meta {
		w.Kind = word.Many
		if i := strings.IndexAny(head, "*?["); i >= 0 {
			w.Text = head[:i]
		}
	}
	w.Numeric = len(pieces) == 1 && pieces[0].numeric && w.Kind == word.Open && head == ""
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
