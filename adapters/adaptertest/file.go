package adaptertest

import (
	"bytes"
	"io"
	"testing"

	"paragents/core"
)

func testFile(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Run("in", func(t *testing.T) { testFileIn(t, fresh(t)) })
	t.Run("in, not there", func(t *testing.T) { testNoFile(t, fresh(t)) })
	if fresh(t).Adapter().Capabilities().Files {
		t.Run("out", func(t *testing.T) { testFileOut(t, fresh(t)) })
	}
}

// content is no text in any encoding.
var content = bytes.Repeat([]byte{0, 1, 0xff, 0xfe, '\r', '\n', '<'}, 5000)

func testFileIn(t *testing.T, h Harness) {
	a := h.Adapter()
	r := receive(t, a, nil, 0)
	place := h.Place(Direct)
	h.Act(Action{Do: Attach, Place: place, Text: "what is this?", File: &core.File{Name: "data é.bin", Data: content}})
	e := r.next(core.InMessage)
	if e.Text != "what is this?" || len(e.Files) != 1 {
		t.Fatalf("text %q with %d files, want the text and one file", e.Text, len(e.Files))
	}
	f := e.Files[0]
	if f.ID == "" || f.Name != "data é.bin" || f.Size != int64(len(content)) {
		t.Errorf("file is %+v", f)
	}
	// Another process may be the one to read it.
	body, err := h.Adapter().Fetch(soon(t), e.Place, f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(got, content) {
		t.Errorf("fetched are %d bytes that differ from the %d sent", len(got), len(content))
	}
}

func testNoFile(t *testing.T, h Harness) {
	body, err := h.Adapter().Fetch(soon(t), h.Place(Direct), core.Attachment{ID: "nothing", Name: "nothing.txt"})
	if err == nil {
		body.Close() //nolint:errcheck // the test has failed
		t.Error("a file that is not there is fetched")
	}
}

func testFileOut(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Thread)
	m := text(place, "the whole diff")
	m.File = &core.File{Name: "change é.diff", Data: content}
	m.Rows = [][]core.Button{{{Label: "Undo", Token: "tok-undo"}}}
	got := find(t, h, place, send(t, a, m))
	if got.Text != "the whole diff" || got.File == nil || got.File.Name != "change é.diff" || !bytes.Equal(got.File.Data, content) {
		t.Errorf("shown is text %q and not the file", got.Text)
	}
	if a.Capabilities().Buttons && (len(got.Buttons) != 1 || got.Buttons[0][0] != "Undo") {
		t.Errorf("buttons %v, want Undo", got.Buttons)
	}
}
