// Package page turns something to show into the messages of a place: pieces, heads with a file, rows of buttons, and the names of cards that are changed later.
package page

import (
	"strconv"
	"strings"

	"paragents/bot/markup"
	"paragents/bot/phrase"
	"paragents/core"
)

// Replacing makes messages change the one that stands as a card: what does not fit into one is left out.
func Replacing(ms []core.Message, card string) []core.Message {
	if len(ms) == 0 {
		return nil
	}
	m := ms[len(ms)-1]
	m.Card, m.Replace = card, true
	return []core.Message{m}
}

// Page is something to show: Markdown, and the rows of buttons under its last piece. What is too long becomes a head and a file.
type Page struct {
	Head string // in front of the text, and not in the file
	Text string
	Rows [][]core.Button
	File *core.File // goes first
	Card string     // names the last message, so that it can be changed
	Open bool       // for everybody to see, also where its answers are for the visitor alone: it must not get lost
	// Answer: a code block in it that is too long for a chat, such as a tool's output, makes it a head and a file as well.
	Answer bool
}

// render renders text for a platform.
func render(text string, caps core.Capabilities) []markup.Piece {
	return markup.Render(text, markup.Dialect(caps.Dialect), markup.Limits{Unit: markup.Unit(caps.Unit), Max: caps.Max})
}

// Messages renders a page for a place.
func Messages(p Page, caps core.Capabilities, place core.Place) []core.Message {
	pieces := render(p.Head+p.Text, caps)
	_, lines := blocks(p.Text)
	if (len(pieces) > maxPieces || p.Answer && lines > maxBlock) && caps.Files && p.File == nil {
		p.File = &core.File{Name: "answer.md", Data: []byte(p.Text)}
		pieces = render(p.Head+beginning(p.Text, min(headRunes, caps.Max/2))+"\n\n"+phrase.InFile, caps)
	}
	out := make([]core.Message, 0, len(pieces)+1)
	if p.File != nil && caps.Files {
		out = append(out, core.Message{Place: place, File: p.File, Silent: true})
	}
	for _, piece := range pieces {
		out = append(out, core.Message{Place: place, Text: piece.Text, Plain: piece.Plain, Silent: true})
	}
	if n := len(out); n > 0 {
		out[n-1].Card = p.Card
	}
	if n := len(out); n > 0 && caps.Buttons {
		out[n-1].Rows = p.Rows
		if caps.Lines {
			onKeys(p.Rows)
		}
	}
	return out
}

// onKeys labels buttons for a keyboard; those without a key of their own get numbers.
func onKeys(rows [][]core.Button) {
	n := 0
	for _, row := range rows {
		for i := range row {
			b := &row[i]
			if label, ok := phrase.OnKey(b.Label); ok {
				b.Label = label
				continue
			}
			if b.Key == "" {
				n++
				b.Key = strconv.Itoa(n)
			}
			b.Label = "[" + b.Key + "] " + b.Label
		}
	}
}

const (
	maxPieces = 3    // more of them become a head and a file
	maxBlock  = 40   // lines of a code block in an answer
	headRunes = 1200 // of the head, and
	headLines = 20   // of it
)

// beginning is the part of a long text that a chat shows.
func beginning(text string, runes int) string {
	if lines := strings.SplitAfterN(text, "\n", headLines+1); len(lines) > headLines {
		text = strings.TrimRight(strings.Join(lines[:headLines], ""), "\n") + "\n…"
	}
	return closed(phrase.Cut(text, runes))
}

// closed ends a code block that a cut has left open, so that what follows does not become part of it.
func closed(text string) string {
	if open, _ := blocks(text); open != "" {
		return text + "\n" + open
	}
	return text
}

// blocks is the mark of the code block that a text leaves open, and how many lines its longest one has.
func blocks(text string) (open string, longest int) {
	lines := 0
	for line := range strings.SplitSeq(text, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case open == "" && len(ticks) >= 3:
			open, lines = ticks, 0
		case open != "" && len(ticks) >= len(open) && strings.Trim(line, "` ") == "":
			open = ""
		case open != "":
			lines++
			longest = max(longest, lines)
		}
	}
	return open, longest
}

func Loud(ms []core.Message, yes bool) []core.Message {
	if n := len(ms); n > 0 && yes {
		ms[n-1].Silent = false
	}
	return ms
}

// TooLong reports whether a text is more than a chat is sent in pieces: it becomes a head and a file where there are files.
func TooLong(text string, caps core.Capabilities) bool { return len(render(text, caps)) > maxPieces }
