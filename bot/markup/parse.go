package markup

import (
	"bufio"
	"bytes"
	stdhtml "html"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	goldmarkparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// maxIndent is the deepest indentation of a list, in columns. Deeper levels
// line up: a phone has no room, and hostile nesting must not grow the text.
const maxIndent = 12

// parser is made at its first use; it is safe for concurrent use.
var parser = sync.OnceValue(func() goldmarkparser.Parser {
	return goldmark.New(goldmark.WithExtensions(
		extension.Table, extension.Strikethrough, extension.TaskList,
		extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"})),
	)).Parser()
})

// parse returns source, flattened. What cannot be a link in d within l becomes
// text with its address.
func parse(source string, d Dialect, l Limits) *document {
	src := []byte(controls(source))
	f := &flattener{src: src, dialect: d, limits: l}
	f.blocks(parser().Parse(text.NewReader(src)))
	return newDocument(f.runs)
}

// flattener walks the syntax tree and collects runs.
type flattener struct {
	src     []byte
	dialect Dialect
	limits  Limits

	runs   []run
	quoted style // quote inside of a quote, else 0
	indent int   // columns before a line in the current list item

	// gap counts the newlines owed before whatever comes next, so that none
	// is left at the end; gapQuoted is the style of the lines between.
	gap       int
	gapQuoted style
}

// newline asks for at least n newlines before the next text.
func (f *flattener) newline(n int) {
	f.gap = max(f.gap, n)
	f.gapQuoted = f.quoted
}

func (f *flattener) put(s string, a attr) {
	if s == "" {
		return
	}
	if a.style&pre == 0 {
		a.style |= f.quoted
	}
	if n := len(f.runs); n > 0 && f.gap > 0 {
		f.gapQuoted &= a.style
		if f.runs[n-1].style&pre != 0 {
			f.gapQuoted = 0
		}
		f.runs = append(f.runs, run{strings.Repeat("\n", f.gap), attr{style: f.gapQuoted}})
		if f.indent > 0 && a.style&pre == 0 {
			f.runs = append(f.runs, run{strings.Repeat(" ", f.indent), attr{style: indent | f.quoted}})
		}
	}
	f.gap = 0
	f.runs = append(f.runs, run{controls(s), a})
}

// blocks flattens the blocks within parent, a blank line between them.
func (f *flattener) blocks(parent ast.Node) {
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		f.block(c)
		if list := c.NextSibling(); list != nil && list.Kind() == ast.KindList && parent.Kind() == ast.KindListItem {
			f.newline(1)
		} else {
			f.newline(2)
		}
	}
}

func (f *flattener) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		f.inline(n, bold)
	case *ast.Paragraph, *ast.TextBlock:
		f.inline(n, 0)
	case *ast.Blockquote:
		outer := f.quoted
		f.quoted = quote
		f.blocks(n)
		f.quoted = outer
	case *ast.List:
		f.list(n)
	case *ast.FencedCodeBlock:
		f.pre(lines(n, f.src), language(string(n.Language(f.src))))
	case *ast.CodeBlock:
		f.pre(lines(n, f.src), "")
	case *ast.HTMLBlock:
		s := lines(n, f.src)
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(f.src))
		}
		f.put(strings.TrimRight(s, "\n"), attr{})
	case *ast.ThematicBreak:
		f.put("———", attr{})
	case *east.Table:
		f.table(n)
	}
}

func (f *flattener) pre(s, lang string) {
	if strings.TrimSpace(s) != "" {
		f.put(strings.TrimRight(s, "\n"), attr{style: pre, lang: lang})
	}
}

func (f *flattener) list(l *ast.List) {
	number := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if l.IsOrdered() {
			mark = strconv.Itoa(number) + string(l.Marker) + " "
			number++
		}
		if box := taskBox(item); box != "" {
			mark = box
		}
		f.item(mark, func() {
			if !startsWithText(item) {
				// Markdown takes rows of empty bullets for other things.
				f.put("\u00A0", attr{})
				f.newline(1)
			}
			f.blocks(item)
		})
	}
}

func startsWithText(item ast.Node) bool {
	switch item.FirstChild().(type) {
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading, *ast.HTMLBlock, *ast.ThematicBreak:
		return true
	}
	return false
}

// item puts a list item with what body puts, indented, on a line of its own.
func (f *flattener) item(mark string, body func()) {
	f.put(mark, attr{style: marker})
	outer := f.indent
	if width := len([]rune(mark)); f.indent+width <= maxIndent {
		f.indent += width
	}
	body()
	f.indent = outer
	f.gap = 0
	f.newline(1)
}

func taskBox(item ast.Node) string {
	if first := item.FirstChild(); first != nil {
		if box, ok := first.FirstChild().(*east.TaskCheckBox); ok {
			if box.IsChecked {
				return "☑ "
			}
			return "☐ "
		}
	}
	return ""
}

// inline flattens what is within parent's lines, in style st.
func (f *flattener) inline(parent ast.Node, st style) {
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		switch n := c.(type) {
		case *ast.Text:
			f.put(f.literal(n), attr{style: st})
			if n.SoftLineBreak() || n.HardLineBreak() {
				f.newline(1)
			}
		case *ast.String:
			f.put(string(n.Value), attr{style: st})
		case *ast.CodeSpan:
			f.put(f.plain(n), attr{style: code})
		case *ast.Emphasis:
			f.inline(n, st|[]style{italic, bold}[min(n.Level, 2)-1])
		case *east.Strikethrough:
			f.inline(n, st|strike)
		case *ast.RawHTML:
			f.put(string(n.Segments.Value(f.src)), attr{style: st})
		case *ast.Link:
			f.link(f.plain(n), unescape(n.Destination), st)
		case *ast.Image:
			f.link(f.plain(n), unescape(n.Destination), st)
		case *ast.AutoLink:
			if n.AutoLinkType == ast.AutoLinkURL && n.Protocol == nil {
				f.link("", string(n.URL(f.src)), st)
			} else { // mail addresses and www.example.test stay text
				f.put(f.autolinkText(n), attr{style: st})
			}
		}
	}
}

// link puts a link if it is one that may be followed, fits, and says where it
// leads; else its text and its address.
func (f *flattener) link(label, dest string, st style) {
	href, ok := address(dest)
	if label == dest || !strings.ContainsFunc(label, isSeen) {
		label = href
	}
	deceptive := label != href && (strings.Contains(label, "://") || strings.HasPrefix(label, "www."))
	a := attr{style: st, href: href}
	seen := withAddress(label, href)
	if f.limits.Max > 0 {
		r := []run{{label, attr{href: href}}}
		size := max(Len(render(r, f.dialect), f.limits.Unit), Len(seen, f.limits.Unit))
		ok = ok && f.limits.Max >= minMarkup && size+minMarkup/2 <= f.limits.Max
	}
	if !ok || deceptive {
		f.put(seen, attr{style: st})
		return
	}
	f.put(label, a)
}

// withAddress is how a link looks where there are no links.
func withAddress(label, href string) string {
	if label == href {
		return href
	}
	return label + " (" + href + ")"
}

// plain returns the text within n on one line, without looks.
func (f *flattener) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch c := c.(type) {
		case *ast.Text:
			b.WriteString(f.literal(c))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.RawHTML:
			b.Write(c.Segments.Value(f.src))
		case *ast.AutoLink:
			b.WriteString(f.autolinkText(c))
		}
		return ast.WalkContinue, nil
	})
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// autolinkText returns an address as the source has it.
func (f *flattener) autolinkText(n *ast.AutoLink) string {
	label := string(n.Label(f.src))
	if f.src[n.Pos()] == '<' {
		return "<" + label + ">"
	}
	return label
}

// literal returns the characters that a text node stands for.
func (f *flattener) literal(n *ast.Text) string {
	v := n.Value(f.src)
	if n.IsRaw() {
		return string(v)
	}
	return unescape(v)
}

// unescape resolves entities and backslashes. It goes by way of HTML, because
// only goldmark's writer resolves both in one pass.
func unescape(v []byte) string {
	if bytes.IndexByte(v, '\\') < 0 && bytes.IndexByte(v, '&') < 0 {
		return string(v)
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	html.DefaultWriter.Write(w, v)
	_ = w.Flush() // a bytes.Buffer takes all
	return stdhtml.UnescapeString(b.String())
}

func lines(n ast.Node, src []byte) string {
	return string(n.Lines().Value(src))
}

// language keeps of a fence's language what is safe to repeat in markup.
func language(s string) string {
	for i, r := range s {
		if i >= 20 || !strings.ContainsRune("+-#._", r) && (r > 'z' || !isWord(r)) {
			return s[:i]
		}
	}
	return s
}
