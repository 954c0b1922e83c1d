package agent_test

import (
	"testing"

	"paragents/core"
	"paragents/core/agent"
)

func TestPriceOfUsage(t *testing.T) {
	p := agent.Price{In: 2, Out: 8, Cached: 0.5}
	for _, c := range []struct {
		used core.Usage
		want float64
	}{
		{core.Usage{}, 0},
		{core.Usage{In: 1_000_000}, 2},
		{core.Usage{In: 1_000_000, Cached: 1_000_000}, 0.5},
		{core.Usage{In: 3_000_000, Out: 500_000, Cached: 1_000_000}, 8.5},
	} {
		if got := p.Of(c.used); got != c.want {
			t.Errorf("%+v costs %v, want %v", c.used, got, c.want)
		}
	}
}
