package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paragents/core"
)

func testStop(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Run("soon", func(t *testing.T) { testSoon(t, fresh(t)) })
	t.Run("while away", func(t *testing.T) { testStopAway(t, fresh(t)) })
	t.Run("ended context", func(t *testing.T) { testEnded(t, fresh(t)) })
	t.Run("B070 no secret in an error", func(t *testing.T) { testSecrets(t, fresh(t)) })
}

// prompt is how soon "at once" is, on a busy machine.
const prompt = 2 * time.Second

func testSoon(t *testing.T, h Harness) {
	a := h.Adapter()
	leaks := goleak.IgnoreCurrent()
	r := receive(t, a, nil, 0)
	h.Act(Action{Do: Say, Place: h.Place(Direct), Text: "hello"})
	r.next(core.InMessage)
	begin := time.Now()
	r.stop()
	if took := time.Since(begin); took > prompt {
		t.Errorf("Receive took %v to end", took)
	}
	if err := goleak.Find(leaks); err != nil {
		t.Errorf("after Receive: %v", err)
	}
}

func testStopAway(t *testing.T, h Harness) {
	h.Fail(Failure{Trouble: Down})
	r := receive(t, h.Adapter(), nil, 0)
	begin := time.Now()
	r.stop()
	if took := time.Since(begin); took > prompt {
		t.Errorf("Receive took %v to end", took)
	}
	h.Fail(Failure{Trouble: Up})
}

func testEnded(t *testing.T, h Harness) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Adapter().Send(ctx, text(h.Place(Direct), "too late"))
	if err == nil {
		t.Fatal("sent although the context had ended")
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v does not say that the context ended", err)
	}
	if f := faultOf(t, err); f.Fault != core.FaultRetry {
		t.Errorf("fault %q, want %q: nothing was sent", f.Fault, core.FaultRetry)
	}
}

// testSecrets collects the errors of every call that can fail, in every way that can be arranged, and looks into each layer.
func testSecrets(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Room)
	var errs []error
	everything := func() {
		_, err := a.Send(soon(t), text(place, "hello"))
		errs = append(errs, err)
		m := text(place, "hello")
		m.File = &core.File{Name: "a.txt", Data: []byte("a")}
		_, err = a.Send(soon(t), m)
		errs = append(errs, err, a.Edit(soon(t), "12345678", text(place, "hello")))
		_, err = a.Fetch(soon(t), place, core.Attachment{ID: "nothing", Name: "nothing.txt"})
		errs = append(errs, err)
		if x, ok := a.(core.Typer); ok {
			errs = append(errs, x.Typing(soon(t), place))
		}
		if x, ok := a.(core.Reactor); ok {
			errs = append(errs, x.React(soon(t), place, "12345678", "seen"))
		}
		if x, ok := a.(core.Answerer); ok {
			errs = append(errs, x.Answer(soon(t), "881234567890", "hello"))
		}
		if x, ok := a.(core.Checker); ok {
			errs = append(errs, x.Check(soon(t)))
		}
		if x, ok := a.(core.Threader); ok {
			_, err := x.OpenThread(soon(t), place, "", "hello")
			errs = append(errs, err)
		}
		if x, ok := a.(core.Finder); ok {
			_, _, err := x.Find(soon(t), place, "m-0")
			errs = append(errs, err)
		}
	}
	h.Fail(Failure{Trouble: Cut, Place: place})
	everything()
	h.Fail(Failure{Trouble: Gone, Place: place})
	everything()
	h.Fail(Failure{Trouble: Down})
	everything()
	h.Fail(Failure{Trouble: Up})
	failed := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		failed++
		for _, layer := range layers(err) {
			for _, secret := range h.Facts().Secrets {
				if said := fmt.Sprintf("%v %+v %#v", layer, layer, layer); strings.Contains(said, secret) {
					t.Errorf("secret in %T: %v", layer, layer)
				}
			}
		}
	}
	if failed < 8 {
		t.Errorf("only %d calls failed: the question is not asked", failed)
	}
}

// layers is an error and all that it wraps.
func layers(err error) []error {
	out := []error{err}
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		if inner := w.Unwrap(); inner != nil {
			out = append(out, layers(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range w.Unwrap() {
			out = append(out, layers(inner)...)
		}
	}
	return out
}
