package markup

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// maxTable is the widest table, in columns, that a phone shows without wrapping.
const maxTable = 40

// table flattens a table. Not one dialect can be relied on to have tables, so
// a narrow one without links becomes a block of aligned text, any other a list
// with an item a row.
func (f *flattener) table(t *east.Table) {
	var cells [][]string
	links := false
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var line []string
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			line = append(line, strings.Join(strings.Fields(f.plain(c)), " "))
			links = links || hasLink(c)
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(t.Alignments))
	for _, line := range cells {
		for i, s := range line {
			widths[i] = max(widths[i], uniseg.StringWidth(s))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if total > maxTable || links {
		f.rows(t, cells[0])
		return
	}
	var b strings.Builder
	for i, line := range cells {
		alignedRow(&b, line, widths, t.Alignments)
		if i == 0 {
			var rules []string
			for _, w := range widths {
				rules = append(rules, strings.Repeat("-", w))
			}
			alignedRow(&b, rules, widths, t.Alignments)
		}
	}
	f.pre(b.String(), "")
}

func alignedRow(b *strings.Builder, line []string, widths []int, align []east.Alignment) {
	var row strings.Builder
	for i, s := range line {
		fill := strings.Repeat(" ", widths[i]-uniseg.StringWidth(s))
		if align[i] == east.AlignRight {
			row.WriteString(fill + s + "  ")
		} else {
			row.WriteString(s + fill + "  ")
		}
	}
	b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
}

// rows flattens a table to a list: the first cell, then the others by name.
func (f *flattener) rows(t *east.Table, names []string) {
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		if row.Kind() == east.KindTableHeader && row.NextSibling() != nil {
			continue
		}
		f.item("• ", func() {
			i := 0
			for c := row.FirstChild(); c != nil; c = c.NextSibling() {
				switch {
				case i == 0:
					f.inline(c, bold)
				case c.FirstChild() != nil:
					f.newline(1)
					if names[i] != "" && row.Kind() != east.KindTableHeader {
						f.put(names[i]+": ", attr{})
					}
					f.inline(c, 0)
				}
				i++
			}
		})
	}
}

func hasLink(n ast.Node) bool {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c.Kind() {
		case ast.KindLink, ast.KindImage, ast.KindAutoLink:
			return true
		}
		if hasLink(c) {
			return true
		}
	}
	return false
}
