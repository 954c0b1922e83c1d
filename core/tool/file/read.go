package file

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"paragents/core/tool"
)

const readSchema = `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","description":"file, relative to the workspace"},
"offset":{"type":"integer","minimum":1,"description":"first line to read; 1 if left out"},
"limit":{"type":"integer","minimum":1,"description":"how many lines to read; as many as fit if left out"}}}`

const (
	sniff      = 8000                     // bytes in which a NUL means that a file is binary
	readRoom   = tool.OutputLimit - 1<<10 // bytes of content in one result; the rest is for notes
	readBuffer = 64 << 10                 // more than readRoom: a line that does not fit it does not fit the result
	maxHash    = 64 << 20                 // bytes; a larger file is read as far as its window, and cannot be edited then
)

func planRead(env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	var args struct {
		Path   string `json:"path"`
		Offset int    `json:"offset"`
		Limit  int    `json:"limit"`
	}
	if err := tool.Args(arguments, &args); err != nil {
		return tool.Plan{}, err
	}
	if args.Offset < 0 || args.Limit < 0 {
		return tool.Plan{}, errors.New("offset and limit count lines from 1")
	}
	p, err := find(env, args.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	w := window{first: max(1, args.Offset), limit: args.Limit}
	show := "read " + p.String()
	if args.Offset > 1 || args.Limit > 0 {
		show += fmt.Sprintf(", from line %d", w.first)
	}
	return tool.Plan{Checks: p.checks("Read"), Show: show, Line: show, Run: func(ctx context.Context) (tool.Result, error) {
		if err := p.again(env); err != nil {
			return tool.Result{}, err
		}
		return w.read(ctx, env, p)
	}}, nil
}

// window is a range of lines on its way into a result.
type window struct {
	first, limit int // limit 0: as many as fit
	text         strings.Builder
	last         int  // newest line taken
	crlf         bool // a line ended in CR LF, which is shown as LF
	full         bool // a line did not fit
	broken       bool // and it was the first, so a part of it was taken
}

func (w *window) read(ctx context.Context, env *tool.Env, p place) (tool.Result, error) {
	dir, name, err := descend(env.Root, p.real, false)
	if err != nil {
		return tool.Result{}, explain(p.asked, err)
	}
	defer dir.Close()
	f, info, err := open(dir, name)
	if err != nil {
		return tool.Result{}, explain(p.asked, err)
	}
	defer f.Close()
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(f, sum), readBuffer)
	if start, _ := in.Peek(sniff); bytes.IndexByte(start, 0) >= 0 {
		return tool.Result{Output: fmt.Sprintf("%s is a binary file of %d bytes; file tools neither show nor change it", p.asked, info.Size())}, nil
	}
	huge := info.Size() > maxHash
	line := 1
	for !huge || !w.done(line) {
		if ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
		piece, err := in.ReadSlice('\n')
		w.take(line, piece)
		if err == nil {
			line++
			continue
		}
		if errors.Is(err, io.EOF) {
			if len(piece) == 0 {
				line-- // the file ends with a line end, or is empty
			}
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return tool.Result{}, explain(p.asked, err)
		}
	}
	if w.last == 0 && line > 0 {
		return tool.Result{}, fmt.Errorf("%s has only %d lines; ask for an offset up to that", p.asked, line)
	}
	r := tool.Result{Output: w.text.String() + w.notes(line, info.Size(), huge)}
	if !huge {
		r.Seen = map[string]string{p.real: hex.EncodeToString(sum.Sum(nil))}
	}
	return r, nil
}

// done reports whether the window ends before the line.
func (w *window) done(line int) bool {
	return w.full || w.limit > 0 && line >= w.first+w.limit
}

// take adds a line, or a piece of one that is longer than the reader's buffer and so than the window.
func (w *window) take(line int, piece []byte) {
	if len(piece) == 0 || line < w.first || w.done(line) {
		return
	}
	if body, ok := bytes.CutSuffix(piece, []byte("\r\n")); ok {
		w.crlf = true
		piece = append(body, '\n') // in the reader's buffer, where the CR was
	}
	text := tool.Clean(piece)
	if w.text.Len()+len(text) > readRoom {
		w.full = true
		if w.last > 0 {
			return
		}
		w.broken = true
		text = strings.ToValidUTF8(text[:readRoom], "")
	}
	w.text.WriteString(text)
	w.last = line
}

// notes says what of the file is not in the window. Lines is how many were counted.
func (w *window) notes(lines int, size int64, huge bool) string {
	var notes []string
	of := fmt.Sprintf("of %d", lines)
	if huge {
		of = fmt.Sprintf("of a file of %d bytes, too large for edit_file", size)
	}
	switch {
	case w.last == 0:
		notes = append(notes, "the file is empty")
	case w.broken:
		notes = append(notes, fmt.Sprintf("the first %d bytes of line %d %s; the line is too long to show", readRoom, w.last, of))
	case huge || w.last < lines:
		notes = append(notes, fmt.Sprintf("lines %d to %d %s; read on with offset %d", w.first, w.last, of, w.last+1))
	case w.first > 1:
		notes = append(notes, fmt.Sprintf("lines %d to %d %s", w.first, w.last, of))
	}
	if w.crlf {
		notes = append(notes, "lines end in CR LF; edit_file keeps that")
	}
	if len(notes) == 0 {
		return ""
	}
	lead := "\n"
	if text := w.text.String(); text == "" || strings.HasSuffix(text, "\n") {
		lead = ""
	}
	return lead + "[" + strings.Join(notes, "; ") + "]"
}
