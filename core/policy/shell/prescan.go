package shell

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"paragents/core/policy/word"
)

// effects of a piece of script on the state, found without walking it.
type touched struct {
	names   map[string]bool // variables that are set
	numbers map[string]bool // of those, the ones that are set to numbers only
	wild    bool            // any variable may be set
	moves   bool            // the directory may change
}

// touches finds what a node may change in the shell that runs it; what a subshell changes does not leave it unless
// deep is set.
func touches(n syntax.Node, deep bool) touched {
	t := touched{names: map[string]bool{}, numbers: map[string]bool{}}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return deep
		case *syntax.Stmt:
			return deep || !n.Background
		case *syntax.BinaryCmd:
			return deep || n.Op != syntax.Pipe && n.Op != syntax.PipeAll
		case *syntax.Assign:
			if n.Name != nil {
				t.set(n.Name.Value, n.Value != nil && !n.Append && numeric(n.Value))
			}
		case *syntax.WordIter:
			t.set(n.Name.Value, false)
		case *syntax.ParamExp:
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
				t.set(n.Param.Value, false)
			}
		case *syntax.BinaryArithm:
			if x, ok := n.X.(*syntax.Word); ok && assignsArithm(n.Op) {
				t.set(x.Lit(), true)
			}
		case *syntax.UnaryArithm:
			if x, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
				t.set(x.Lit(), true)
			}
		case *syntax.CallExpr:
			t.call(n)
		case *syntax.LetClause, *syntax.CoprocClause:
			t.wild = true
		}
		return true
	})
	return t
}

func (t *touched) set(name string, number bool) {
	if !t.names[name] {
		t.numbers[name] = number
	}
	t.numbers[name] = t.numbers[name] && number
	t.names[name] = true
}

// numeric reports whether a word is a number for sure.
func numeric(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	if _, ok := w.Parts[0].(*syntax.ArithmExp); ok {
		return true
	}
	return digits(w.Lit())
}

func (t *touched) call(n *syntax.CallExpr) {
	args := n.Args
	for len(args) > 0 {
		name := static(args[0])
		args = args[1:]
		switch name {
		case "command", "builtin":
			continue
		case "cd", "pushd", "popd":
			t.moves = true
		case "eval", ".", "source", "trap", "alias", "":
			t.wild, t.moves = true, true
		case "read", "getopts", "mapfile", "readarray", "printf", "unset", "wait", "export", "declare", "local", "readonly", "typeset":
			for _, a := range args {
				if lit := static(a); syntax.ValidName(lit) {
					t.set(lit, false)
				} else if lit == "" {
					t.wild = true
				}
			}
			if name == "mapfile" || name == "readarray" {
				t.set("MAPFILE", false)
			}
			if name == "read" {
				t.set("REPLY", false)
			}
		}
		return
	}
}

// static returns the text of a word of plain and quoted characters, and nothing for any other.
func static(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			if p.Dollar {
				return ""
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if len(p.Parts) > 1 {
				return ""
			}
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok {
					return ""
				}
				b.WriteString(word.UnescapeDouble(l.Value))
			}
		default:
			return ""
		}
	}
	return b.String()
}

// prescan notes what functions of a script may change, because a call of one can come at any time, and what the script
// changes at all, because the body of a function is judged where it is written.
func (w *walker) prescan(file *syntax.File) {
	has := false
	syntax.Walk(file, func(n syntax.Node) bool {
		f, ok := n.(*syntax.FuncDecl)
		if ok {
			has = true
			t := touches(f.Body, false)
			maps.Copy(w.volatile, t.names)
			w.wild = w.wild || t.wild
			w.roams = w.roams || t.moves
		}
		return !has || !ok
	})
	if has {
		t := touches(file, true)
		maps.Copy(w.changes, t.names)
		w.moves = w.moves || t.moves
		w.wild = w.wild || t.wild && has
	}
}

// lookup returns what is known of a variable.
func (w *walker) lookup(s *state, name string) (word.Word, bool) {
	if w.wild || w.volatile[name] {
		return word.Word{}, false
	}
	if v, ok := s.vars[name]; ok {
		return v, true
	}
	if name == "PWD" && len(s.dirs) == 1 && !w.roams && !s.pwd {
		return word.Lit(s.dirs[0]), true
	}
	return word.Word{}, false
}

// forget makes unknown what t may change.
func (w *walker) forget(s *state, t touched) {
	for name := range t.names {
		v, known := s.vars[name]
		delete(s.vars, name)
		delete(s.funcs, name)
		if known && number(v) && t.numbers[name] {
			s.vars[name] = word.Word{Kind: word.Open, Numeric: true}
		}
		s.pwd = s.pwd || name == "PWD"
	}
	if t.wild {
		clear(s.vars)
		clear(s.funcs)
		s.pwd = true
	}
	if t.moves {
		s.dirs = nil
	}
}
