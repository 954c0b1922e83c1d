package markup

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// border is a place where text may be cut, and how good it is there.
type border struct {
	at   int
	rank int
}

const (
	afterCluster = iota
	afterWord
	afterSentence
	afterLine
	afterBlock
)

// split cuts d into pieces.
func (d *document) split(dialect Dialect, l Limits) []Piece {
	var out []Piece
	for a := d.skip(0); a < len(d.text); {
		b := d.cut(a, dialect, l)
		if p := d.piece(a, b, dialect); strings.ContainsFunc(p.Plain, isSeen) {
			out = append(out, p)
		}
		a = d.skip(b)
	}
	return out
}

func isSeen(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// skip moves a past white space, but keeps the indentation of code and lists.
func (d *document) skip(a int) int {
	for ; a < len(d.text); a++ {
		switch d.text[a] {
		case '\n':
		case ' ', '\t':
			if d.runs[d.at(a)].style&(pre|indent) != 0 {
				return a
			}
		default:
			return a
		}
	}
	return a
}

func (d *document) piece(a, b int, dialect Dialect) Piece {
	b = a + len(strings.TrimRight(d.text[a:b], " \t\n"))
	runs := d.slice(a, b)
	return Piece{Text: render(runs, dialect), Plain: render(runs, Plain)}
}

// cut returns where the piece that starts at a ends.
func (d *document) cut(a int, dialect Dialect, l Limits) int {
	if l.Max <= 0 {
		return len(d.text)
	}
	fits := func(b int) bool {
		p := d.piece(a, b, dialect)
		return Len(p.Text, l.Unit) <= l.Max && Len(p.Plain, l.Unit) <= l.Max
	}
	borders := d.borders(a, l)
	// What is sent hardly ever shrinks when text is added. Where it does, the
	// last of the loops below still finds a border that fits.
	last := sort.Search(len(borders), func(i int) bool { return !fits(borders[i].at) }) - 1
	if last >= 0 && borders[last].at == len(d.text) {
		return len(d.text)
	}
	for rank := afterBlock; rank > afterCluster; rank-- {
		for i := last; i >= 0 && borders[i].at-a > (borders[last].at-a)/2; i-- {
			if borders[i].rank >= rank && fits(borders[i].at) {
				return borders[i].at
			}
		}
	}
	for i := last; i >= 0; i-- {
		if fits(borders[i].at) {
			return borders[i].at
		}
	}
	// Not even one cluster fits: as many of its characters as do, at least one.
	reach := min(len(d.text)-a, utf8.UTFMax*l.Max)
	n := sort.Search(reach+1, func(i int) bool { return !fits(d.characterEnd(a + i)) }) - 1
	return d.characterEnd(a + max(n, 1))
}

// characterEnd returns p, moved past the character that p falls into.
func (d *document) characterEnd(p int) int {
	for p < len(d.text) && !utf8.RuneStart(d.text[p]) {
		p++
	}
	return p
}

// borders returns the places after a where text may be cut, in order, as far
// as a piece can reach.
func (d *document) borders(a int, l Limits) []border {
	var out []border
	size, state := 0, -1
	at, rest := a, d.text[a:]
	for i := d.at(a); rest != ""; {
		var cluster string
		var kind int
		cluster, rest, kind, state = uniseg.StepString(rest, state)
		if size += Len(cluster, l.Unit); size > l.Max && strings.TrimSpace(cluster) != "" {
			break
		}
		at += len(cluster)
		for i < len(d.ends) && d.ends[i] < at {
			i++
		}
		switch r := d.runs[i]; {
		case r.style&(marker|indent) != 0:
			continue
		case r.href != "" && at < d.ends[i]:
			continue
		case rest == "" || cluster == "\n" && strings.HasSuffix(d.text[a:at], "\n\n") && r.style&pre == 0:
			out = append(out, border{at, afterBlock})
		case cluster == "\n":
			out = append(out, border{at, afterLine})
		case kind&uniseg.MaskSentence != 0 && r.style&pre == 0:
			out = append(out, border{at, afterSentence})
		case kind&uniseg.MaskLine != uniseg.LineDontBreak:
			out = append(out, border{at, afterWord})
		default:
			out = append(out, border{at, afterCluster})
		}
	}
	return out
}
