package markup

import "slices"

// style is a set of attributes of text.
type style uint8

const (
	bold style = 1 << iota
	italic
	strike
	code   // code within a line
	pre    // a block of code
	quote  // within a block quote
	marker // the bullet, box or number of a list item
	indent // the spaces before a line of a list
)

// attr is how a stretch of text looks. Code and pre exclude other styles but
// quote, and pre excludes that too: no dialect can nest more.
type attr struct {
	style style
	lang  string // of pre, may be empty
	href  string // address of a link; it differs from what is shown or equals it
}

// run is a stretch of text with one look.
type run struct {
	text string
	attr
}

// document is flattened Markdown: text is what a reader sees, runs cover it.
type document struct {
	text string
	runs []run
	ends []int // ends[i] is where runs[i] ends in text
}

// newDocument joins neighbours that look alike.
func newDocument(runs []run) *document {
	d := &document{}
	var text []byte
	for _, r := range runs {
		text = append(text, r.text...)
		if n := len(d.runs); n > 0 && d.runs[n-1].attr == r.attr && r.href == "" && r.style&marker == 0 {
			d.ends[n-1] = len(text)
			continue
		}
		d.runs = append(d.runs, run{attr: r.attr})
		d.ends = append(d.ends, len(text))
	}
	d.text = string(text)
	start := 0
	for i, end := range d.ends {
		d.runs[i].text = d.text[start:end]
		start = end
	}
	return d
}

// at returns the index of the run that holds the byte at position p.
func (d *document) at(p int) int {
	i, found := slices.BinarySearch(d.ends, p)
	if found {
		i++
	}
	return i
}

// slice returns the runs of text[a:b], cut to it.
func (d *document) slice(a, b int) []run {
	var out []run
	for i := d.at(a); a < b; i++ {
		end := min(b, d.ends[i])
		out = append(out, run{text: d.text[a:end], attr: d.runs[i].attr})
		a = end
	}
	return out
}
