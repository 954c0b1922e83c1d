package sandbox

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestRecorderKeepsBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 50)).Draw(t, "pieces")
		half := rapid.IntRange(0, 40).Draw(t, "half")
		var whole bytes.Buffer
		r := newRecorder(&whole, 2*half)
		for _, p := range pieces {
			if n, err := r.Write(p); n != len(p) || err != nil {
				t.Fatalf("wrote %d of %d, %v", n, len(p), err)
			}
		}
		all := bytes.Join(pieces, nil)
		if !bytes.Equal(whole.Bytes(), all) || r.size != int64(len(all)) || r.kept != r.size {
			t.Fatalf("passed on %d of %d bytes, counted %d and %d", whole.Len(), len(all), r.size, r.kept)
		}
		head := min(half, len(all))
		tail := min(half, len(all)-head)
		if !bytes.Equal(r.head, all[:head]) || !bytes.Equal(r.tail, all[len(all)-tail:]) {
			t.Fatalf("head %q and tail %q of %q", r.head, r.tail, all)
		}
	})
}

type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	if n < len(p) {
		return n, errors.New("disk full")
	}
	return n, nil
}

func TestRecorderGoesOnWhenTheDiskIsFull(t *testing.T) {
	r := newRecorder(&full{room: 5}, 4)
	for range 3 {
		if n, err := r.Write([]byte("abc")); n != 3 || err != nil {
			t.Fatal(n, err)
		}
	}
	if r.size != 9 || r.kept != 5 || string(r.head)+string(r.tail) != "abbc" {
		t.Errorf("counted %d, kept %d, %q %q", r.size, r.kept, r.head, r.tail)
	}
}
