package lazy_test

import (
	"sync"
	"testing"

	"paragents/core/lazy"
)

// It is compiled by whoever asks first, and not before: one that cannot be compiled is no harm until then.
func TestCompiledAtTheFirstUse(t *testing.T) {
	good, bad := lazy.Compile(`(a+)b`), lazy.Compile(`(`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := good.FindStringSubmatch("xaab"); len(got) != 2 || got[1] != "aa" {
				t.Errorf("found %q", got)
			}
		})
	}
	all.Wait()
	defer func() {
		if recover() == nil {
			t.Error("what cannot be compiled matched")
		}
	}()
	bad.MatchString("")
}
