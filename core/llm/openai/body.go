package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"paragents/core/llm"
)

// Bounds of what a provider can send.
const (
	errorLimit  = 64 << 10  // body of an error
	lineLimit   = 8 << 20   // one event, or a whole reply that is not streamed
	replyLimit  = 4 << 20   // text and arguments of a reply
	streamLimit = 256 << 20 // a stream with all its wrapping
)

// wire sends one request and turns the answer into what go-openai reads well: data lines only, each bounded, every error a *failure. The
// library by itself loses the headers of errors and reads lines of any length.
type wire struct {
	b      *backend
	client *http.Client
	alive  func() // called whenever something arrives
}

func (w *wire) Do(req *http.Request) (*http.Response, error) {
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, errorLimit)) // cut or not, the status says it all
		resp.Body.Close()
		return nil, w.b.refusal(resp.StatusCode, readComplaint(body), resp.Header)
	}
	w.alive()
	resp.Body = &lines{w: w, body: resp.Body, src: bufio.NewReaderSize(resp.Body, 32<<10), left: streamLimit}
	return resp, nil
}

// lines is the body of a reply, reduced to data lines.
type lines struct {
	w     *wire
	body  io.Closer
	src   *bufio.Reader
	left  int
	began bool
	out   []byte // not yet read by the library
	err   error  // comes after out
}

func (l *lines) Close() error { return l.body.Close() }

func (l *lines) Read(p []byte) (int, error) {
	for len(l.out) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.next()
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}

// next takes one line of the provider, or the whole body when that is one JSON value.
func (l *lines) next() {
	line, err := l.line()
	l.err = err
	if err == nil {
		l.w.alive() // an empty line too: some servers send them while they think
	}
	if len(line) == 0 {
		return
	}
	if !l.began {
		l.began = true
		switch line[0] {
		case '{', '[':
			l.whole(line)
			return
		case '<':
			l.err = &failure{fault: llm.FaultRequest, text: "answers with a web page; check llm.base_url, which usually ends in /v1"}
			return
		}
	}
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	if isData {
		data = bytes.TrimSpace(data)
	} else if data = line; line[0] != '{' { // comments, event names, ids
		return
	}
	if bytes.Contains(data, []byte(`"error"`)) {
		var e struct {
			Error json.RawMessage `json:"error"`
		}
		if json.Unmarshal(data, &e) == nil && len(e.Error) > 0 && !bytes.Equal(e.Error, []byte("null")) {
			l.err = l.w.b.refusal(0, readComplaint(data), nil)
			return
		}
	}
	if isData {
		l.out = append(append([]byte("data: "), data...), '\n')
		l.out = bytes.Replace(l.out, []byte(`{"error":`), []byte(`{ "error":`), 1) // the library takes even a null for an error
	}
}

// whole reads a reply that is one JSON value, which begins with first, as if it were a stream of one event.
func (l *lines) whole(first []byte) {
	body := append(bytes.Clone(first), '\n')
	for l.err == nil {
		var line []byte
		line, l.err = l.line()
		body = append(append(body, line...), '\n')
		if len(body) > lineLimit {
			l.err = tooLong()
			return
		}
		l.w.alive()
	}
	if l.err != io.EOF {
		return
	}
	var one bytes.Buffer
	if json.Compact(&one, body) != nil {
		l.err = away("sent a reply that is not whole JSON", ErrCut)
		return
	}
	l.src = bufio.NewReader(bytes.NewReader(append([]byte("data: "), one.Bytes()...)))
	l.err = nil
	if one.Bytes()[0] == '[' { // only errors come as lists
		l.err = l.w.b.refusal(0, readComplaint(one.Bytes()), nil)
	}
}

// line reads up to the end of a line and trims it. The error comes with the last line, if that has no end.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.src.ReadSlice('\n')
		l.left -= len(part)
		if len(line)+len(part) > lineLimit || l.left < 0 {
			return nil, tooLong()
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), err
		}
	}
}

func tooLong() *failure {
	return &failure{fault: llm.FaultRequest, text: "sent a reply that is too long to be true", err: ErrTooLong}
}
