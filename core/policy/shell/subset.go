package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The parser and bash do not agree about everything. What can be allowed is therefore a small part of the language in
// which they are known to agree; a script that leaves it is asked, and deny rules are applied to every reading of it.

// outside says in which way a script leaves the part of the language that can be allowed, or nothing; spans are the
// pieces of source in which the syntax tree may hide commands.
func outside(text string, file *syntax.File) (why string, spans []string) {
	c := &checker{text: text, why: outsideText(text)}
	c.node(file)
	return c.why, c.spans
}

// outsideText checks what the syntax tree does not show.
func outsideText(text string) string {
	if Invisible(text) {
		return "the command holds control or invisible characters"
	}
	if !strings.Contains(text, "\\\n") {
		if strings.HasSuffix(text, "\\") {
			return "the command ends in a backslash"
		}
		return ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		head, continued := strings.CutSuffix(line, `\`)
		if !continued {
			continue
		}
		if strings.Contains(head, "#") {
			return "a comment, or a line that looks like one, ends in a backslash"
		}
		if head != "" && !strings.HasSuffix(head, " ") && !strings.HasSuffix(head, "\t") {
			return "a line is continued in the middle of a word"
		}
	}
	return ""
}

// checker walks a syntax tree and notes what cannot be allowed.
type checker struct {
	text  string
	why   string
	spans []string
	until int  // where the last span ends: spans within it say nothing new
	bad   bool // the node being looked at
}

func (c *checker) fail(why string) {
	c.bad = true
	if c.why == "" {
		c.why = why
	}
}

// node checks a tree.
func (c *checker) node(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		c.bad = false
		switch n := n.(type) {
		case nil, *syntax.File, *syntax.Block, *syntax.Comment, *syntax.IfClause, *syntax.WhileClause, *syntax.WordIter,
			*syntax.CaseItem, *syntax.Word, *syntax.Lit, *syntax.CallExpr, *syntax.Subshell, *syntax.BinaryCmd:
		case *syntax.Stmt:
			if n.Coprocess || n.Disown {
				c.fail("coprocesses are not analysed")
			}
		case *syntax.Assign:
			c.assign(n)
		case *syntax.Redirect:
			c.redirect(n)
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if n.Dollar {
				c.fail(`translated strings, $"…", are not analysed`)
			}
		case *syntax.CmdSubst:
			if n.Backquotes || n.TempFile || n.ReplyVar {
				c.fail("backquotes are not analysed; use $(…)")
			}
		case *syntax.ProcSubst:
			if n.Op != syntax.CmdIn && n.Op != syntax.CmdOut {
				c.fail("this form of process substitution is not analysed")
			}
		case *syntax.ParamExp:
			c.param(n)
		case *syntax.ArithmExp:
			c.arithm(n)
		case *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm:
		case *syntax.ForClause:
			if _, ok := n.Loop.(*syntax.WordIter); !ok || n.Select || n.Braces {
				c.fail("this form of loop is not analysed")
			}
		case *syntax.CaseClause:
			if n.Braces {
				c.fail("this form of case is not analysed")
			}
		case *syntax.FuncDecl:
			if n.RsrvWord || n.Name == nil || !syntax.ValidName(n.Name.Value) {
				c.fail("this form of function is not analysed")
			}
		case *syntax.TimeClause:
			if n.PosixFormat || n.Stmt == nil || n.Stmt.Negated || dashed(n.Stmt) {
				c.fail("time with options is not analysed")
			}
		case *syntax.DeclClause:
		default:
			c.fail("the command uses a part of the shell language that is not analysed")
		}
		if c.bad {
			from, to := int(n.Pos().Offset()), int(n.End().Offset())
			if from <= to && to <= len(c.text) && to > c.until {
				c.spans = append(c.spans, c.text[from:to])
				c.until = to
			}
		}
		return true
	})
}

// dashed reports whether a command begins with a dash.
func dashed(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && strings.HasPrefix(call.Args[0].Lit(), "-")
}

func (c *checker) assign(a *syntax.Assign) {
	if a.Append || a.Index != nil || a.Array != nil {
		c.fail("arrays and += are not analysed")
	}
}

func (c *checker) redirect(r *syntax.Redirect) {
	if r.N != nil && !digits(r.N.Value) {
		c.fail("a redirection to a descriptor in a variable is not analysed")
	}
	lit := r.Word.Lit()
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.WordHdoc:
		if strings.ContainsAny(lit, "*?[{") && r.Op != syntax.WordHdoc {
			c.fail("a redirection to a pattern is not analysed")
		}
	case syntax.DplIn, syntax.DplOut:
		file := r.Op == syntax.DplOut && r.N == nil && lit != "" && strings.Trim(lit[:1], "-0123456789") != ""
		if lit != "-" && !(digits(lit) && lit[0] != '-') && !(file && !strings.ContainsAny(lit, `*?[{\`)) {
			c.fail("an odd redirection of a descriptor is not analysed")
		}
	case syntax.Hdoc, syntax.DashHdoc:
		if !plainDelimiter(r.Word) {
			c.fail("an odd end word of a here-document is not analysed")
		}
	default:
		c.fail("this redirection is not analysed")
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// plainDelimiter reports whether the end word of a here-document consists of letters, as they are or in one pair of
// quotes.
func plainDelimiter(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	text := ""
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		text = p.Value
	case *syntax.SglQuoted:
		if p.Dollar {
			return false
		}
		text = p.Value
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 && !p.Dollar {
			if l, ok := p.Parts[0].(*syntax.Lit); ok {
				text = l.Value
			}
		}
	}
	return text != "" && strings.Trim(text, letters) == ""
}

func (c *checker) param(p *syntax.ParamExp) {
	if p.Excl || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Param == nil ||
		p.Flags != nil || p.NestedParam != nil || p.IsSet || len(p.Modifiers) > 0 {
		c.fail("this form of ${…} is not analysed")
		return
	}
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull,
		syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
	default:
		c.fail("this form of ${…} is not analysed")
	}
	if p.Exp.Word == nil {
		return
	}
	for _, part := range p.Exp.Word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.Trim(part.Value, letters+"-./:,+@%= *?") != "" {
				c.fail("odd characters within ${…} are not analysed")
			}
		case *syntax.ParamExp, *syntax.CmdSubst:
		default:
			c.fail("quotes and the like within ${…} are not analysed")
		}
	}
}

// arithm allows names, numbers and operators, and nothing that could be read as something else.
func (c *checker) arithm(a *syntax.ArithmExp) {
	from, to := int(a.Left.Offset()), int(a.Right.Offset())
	if a.Bracket || a.Unsigned || from < 0 || to > len(c.text) || from >= to {
		c.fail("this form of arithmetic is not analysed")
		return
	}
	if strings.Trim(c.text[from+3:to], letters+" \t+-*/%<>=!&|^~?:()$") != "" {
		c.fail("this form of arithmetic is not analysed")
	}
}

// depth returns how deep commands are nested in a tree.
func depth(n syntax.Node) int {
	deepest, at := 0, 0
	var stack []bool
	syntax.Walk(n, func(n syntax.Node) bool {
		if n == nil {
			if stack[len(stack)-1] {
				at--
			}
			stack = stack[:len(stack)-1]
			return true
		}
		nests := false
		switch n.(type) {
		case *syntax.Subshell, *syntax.Block, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.IfClause, *syntax.WhileClause,
			*syntax.ForClause, *syntax.CaseClause, *syntax.FuncDecl, *syntax.ParamExp, *syntax.ArithmExp, *syntax.ParenArithm:
			nests = true
			at++
			deepest = max(deepest, at)
		}
		stack = append(stack, nests)
		return true
	})
	return deepest
}
