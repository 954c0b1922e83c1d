package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"paragents/core/policy/word"
)

// maxBraces bounds the words that braces make of one.
const maxBraces = 64

// words expands a word of a command line into arguments.
func (w *walker) words(s *state, src *syntax.Word) []word.Word {
	var out []word.Word
	for _, one := range w.braces(src) {
		out = append(out, word.Assemble(w.pieces(s, one.Parts, false, true), true)...)
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
		pieces[i].Quoted = true
		pieces[i].Many = false
	}
	out := word.Assemble(pieces, false)
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
	var out []*syntax.Word
	for one, err := range expand.BracesSeq(nil, split) {
		if err != nil {
			w.doubt("the braces make too many words")
			return []*syntax.Word{src}
		}
		out = append(out, one)
	}
	return out
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
func (w *walker) pieces(s *state, parts []syntax.WordPart, quoted, start bool) []word.Piece {
	var out []word.Piece
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if quoted {
				out = append(out, word.Piece{Text: word.UnescapeDouble(p.Value), Quoted: true})
				continue
			}
			out = append(out, w.literal(s, p.Value, start && i == 0, len(parts) == 1)...)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				var ok bool
				if text, ok = word.UnescapeAnsi(text); !ok {
					w.doubt("a quoted NUL is not analysed")
				}
			}
			out = append(out, word.Piece{Text: text, Quoted: true})
		case *syntax.DblQuoted:
			out = append(out, word.Piece{Quoted: true})
			out = append(out, w.pieces(s, p.Parts, true, false)...)
		case *syntax.ParamExp:
			out = append(out, w.param(s, p, quoted)...)
		case *syntax.CmdSubst:
			w.stmts(s.clone(), p.Stmts)
			out = append(out, word.Piece{Unknown: true, Quoted: quoted})
		case *syntax.ArithmExp:
			w.arithm(s, p.X)
			out = append(out, word.Piece{Unknown: true, Numeric: true, Quoted: true})
		case *syntax.ProcSubst:
			w.procSubst(s, p)
			if len(parts) > 1 {
				w.doubt("a process substitution within a word is not analysed")
			}
			out = append(out, word.Piece{Text: "/dev/fd/63", Quoted: true})
		default:
			w.doubt("the command uses a part of the shell language that is not analysed")
			out = append(out, word.Piece{Unknown: true, Many: true})
		}
	}
	return out
}

// literal expands an unquoted literal: backslashes, a tilde in front, patterns.
func (w *walker) literal(s *state, text string, start, whole bool) []word.Piece {
	var out []word.Piece
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
			out, text = append(out, word.Piece{Text: home.Text, Quoted: true}), rest
		case name != "":
			out, text = append(out, word.Piece{Unknown: true, Quoted: true}), rest
		}
	} else if name, value, ok := strings.Cut(text, "=~"); start && ok && !w.posix && syntax.ValidName(name) {
		home, known := w.lookup(s, "HOME")
		if known && home.Kind == word.Known && (value == "" || value[0] == '/') {
			out, text = append(out, word.Piece{Text: name + "=" + home.Text, Quoted: true}), value
		} else {
			out, text = append(out, word.Piece{Text: name + "=", Quoted: true}, word.Piece{Unknown: true, Quoted: true}), value
		}
	}
	var b strings.Builder
	flush := func(quoted bool) {
		if b.Len() > 0 {
			out = append(out, word.Piece{Text: b.String(), Quoted: quoted})
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
func (w *walker) param(s *state, p *syntax.ParamExp, quoted bool) []word.Piece {
	unknown := word.Piece{Unknown: true, Quoted: quoted}
	if p.Param == nil {
		unknown.Many = true
		return []word.Piece{unknown}
	}
	name := p.Param.Value
	if name == "@" || name == "*" {
		unknown.Many = name == "@" || !quoted
	}
	if p.Length || (name == "#" || name == "?" || name == "$") && p.Exp == nil {
		return []word.Piece{{Unknown: true, Numeric: true, Quoted: true}}
	}
	value, known := w.lookup(s, name)
	if p.Exp != nil {
		return w.paramExp(s, p, unknown, value, known)
	}
	if p.Index != nil || p.Slice != nil || p.Repl != nil || p.Excl || p.Names != 0 {
		unknown.Many = true
		w.operands(s, p)
		return []word.Piece{unknown}
	}
	switch {
	case known && value.Kind == word.Known:
		return []word.Piece{{Text: value.Text, Quoted: quoted}}
	case known && value.Numeric:
		return []word.Piece{{Unknown: true, Numeric: true, Quoted: true}}
	}
	return []word.Piece{unknown}
}

// paramExp expands ${name-word} and its relatives.
func (w *walker) paramExp(s *state, p *syntax.ParamExp, unknown word.Piece, value word.Word, known bool) []word.Piece {
	if p.Exp.Word != nil {
		w.single(s, p.Exp.Word)
		if len(p.Exp.Word.Parts) > 0 {
			unknown.Many = unknown.Many || !unknown.Quoted
		}
	}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		delete(s.vars, p.Param.Value)
		w.assigned(s, p.Param.Value, word.Word{Kind: word.Open}, false)
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if known && value.Kind == word.Known && value.Text != "" {
			return []word.Piece{{Text: value.Text, Quoted: unknown.Quoted}}
		}
	}
	return []word.Piece{unknown}
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
