package redis

import (
	"errors"
	"io"
	"testing"
)

type refusal struct{ error }

func (refusal) RedisError() {}

func TestFlightKnowsWhatMayHaveBeenApplied(t *testing.T) {
	refused := refusal{errors.New("OOM command not allowed")}
	for _, c := range []struct {
		name   string
		writes []int   // of each attempt
		ends   []error // of each attempt; one fewer when the last is still under way
		want   bool
	}{
		{"never tried", nil, nil, false},
		{"never sent", []int{0, 0}, []error{io.EOF, io.EOF}, false},
		{"refused", []int{1, 1}, []error{refused, refused}, false},
		{"lost", []int{1}, []error{io.EOF}, true},
		{"lost, then not sent", []int{1, 0}, []error{io.EOF, io.EOF}, true},
		{"lost, then refused", []int{1, 1}, []error{io.EOF, refused}, true},
		{"sent to several nodes, the last refused", []int{2}, []error{refused}, true},
		{"answered when the caller had gone", []int{1}, []error{nil}, true},
		{"under way", []int{1}, nil, true},
		{"refused, then under way", []int{1, 1}, []error{refused}, true},
	} {
		f := &flight{keep: "60000"}
		for i, writes := range c.writes {
			for range writes {
				if b, err := f.MarshalBinary(); string(b) != "60000" || err != nil {
					t.Fatalf("%s: written as %q, %v", c.name, b, err)
				}
			}
			if i < len(c.ends) {
				f.land(c.ends[i])
			}
		}
		if got := f.cancel(); got != c.want {
			t.Errorf("%s: may have been applied: %v, want %v", c.name, got, c.want)
		}
		if _, err := f.MarshalBinary(); err == nil {
			t.Errorf("%s: sent after it was cancelled", c.name)
		}
	}
}
