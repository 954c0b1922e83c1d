package scheduler_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/fleet"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
)

// goesBy are the terms of a replica that serves "w".
func goesBy(r fleet.Rules) func() fleet.Terms {
	return func() fleet.Terms {
		return fleet.Terms{Platforms: []string{place.Platform}, Managed: r, Workspaces: map[string]fleet.Rules{"w": {}}}
	}
}

// A replica with other rules comes, and dies: the others know of it at once, and forget it with its lease.
func TestReplicasWithOtherRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedtest.Open(t)
		with := func(deny ...string) config {
			return config{Agent: schedtest.Agent(schedtest.Done), Host: "h", Terms: goesBy(fleet.Rules{Deny: deny})}
		}
		a := start(t, s, nil, with("Bash(rm:*)"))
		settle(time.Second)
		b := start(t, s, nil, with("Bash(rm:*)"))
		settle(time.Second)
		if odd := append(a.Odd(), b.Odd()...); len(odd) > 0 {
			t.Fatalf("equal replicas differ: %v", odd)
		}
		c := start(t, s, nil, with("Bash(rm:*)", "Bash(dd:*)"))
		settle(time.Second / 10)
		for _, r := range []*replica{a, b, c} {
			if odd := r.Odd(); len(odd) != 1 {
				t.Errorf("a second after the third came: %v", odd)
			}
		}
		if !slices.ContainsFunc(a.Others(place.Platform), func(o fleet.Terms) bool { return slices.Contains(o.Managed.Deny, "Bash(dd:*)") }) {
			t.Errorf("the first replica does not know what the third denies: %v", a.Others(place.Platform))
		}
		if other := a.Others("elsewhere"); len(other) > 0 {
			t.Errorf("%v speak nowhere else", other)
		}
		list, err := b.Replicas(t.Context())
		must(t, err)
		for _, m := range list {
			if odd := len(m.Odd) > 0; odd != (m.ID == c.ID()) || m.Terms.Host != "h" {
				t.Errorf("replica %s: odd %v, terms %v", m.ID, m.Odd, m.Terms)
			}
		}
		c.Kill()
		settle(20 * time.Second)
		if odd := append(a.Odd(), b.Odd()...); len(odd) > 0 {
			t.Errorf("after the third died: %v", odd)
		}
	})
}

// A run is given what the other replicas at its place go by.
func TestRunKnowsOthersTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedtest.Open(t)
		var seen []fleet.Terms
		agent := schedtest.Agent(func(ctx context.Context, run *scheduler.Run) outcome {
			now, err := run.Standing(ctx)
			if err != nil {
				t.Error(err)
			}
			seen = now.Others
			return schedtest.Done(ctx, run)
		})
		start(t, s, nil, config{Agent: schedtest.Agent(schedtest.Done), Serves: func(string) bool { return false }, Terms: goesBy(fleet.Rules{Ask: []string{"Read(x)"}})})
		settle(time.Second)
		r := start(t, s, nil, config{Agent: agent, Terms: goesBy(fleet.Rules{})})
		settle(time.Second)
		p := r.Submit(t, "", "one").Prompt
		settle(time.Second)
		if got := r.Read(t, p.ID).State; got != core.Done || len(seen) != 1 || !slices.Equal(seen[0].Managed.Ask, []string{"Read(x)"}) {
			t.Errorf("prompt %s, others %v", got, seen)
		}
	})
}

// Who has a duty is known to all.
func TestDutiesAreVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedtest.Open(t)
		a := start(t, s, nil, config{Agent: schedtest.Agent(schedtest.Done)})
		b := start(t, s, nil, config{Agent: schedtest.Agent(schedtest.Done)})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.Do(ctx, []string{"receive/test/0"}, func(ctx context.Context) error { <-ctx.Done(); return nil })
		}()
		settle(3 * time.Second)
		duties := func() map[core.ReplicaID][]string {
			list, err := a.Replicas(context.WithoutCancel(ctx))
			must(t, err)
			out := map[core.ReplicaID][]string{}
			for _, m := range list {
				out[m.ID] = m.Duties
			}
			return out
		}
		if d := duties(); !slices.Equal(d[b.ID()], []string{"receive/test/0"}) || len(d[a.ID()]) > 0 {
			t.Errorf("duties are %v", d)
		}
		stop()
		<-ended
		if d := duties(); len(d[b.ID()]) > 0 {
			t.Errorf("given up, and still %v", d)
		}
	})
}

// A prompt whose workspace nobody serves: its place hears so after ten seconds, once, from one of the replicas; it begins when somebody serves it.
func TestUnservedWorkspaceIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedtest.Open(t)
		mail := &schedtest.Mail{}
		elsewhere := config{Agent: schedtest.Agent(schedtest.Done), Serves: func(w string) bool { return w == "other" },
			Terms: func() fleet.Terms {
				return fleet.Terms{Platforms: []string{place.Platform}, Workspaces: map[string]fleet.Rules{"other": {}}}
			}}
		a, _ := start(t, s, mail, elsewhere), start(t, s, mail, elsewhere)
		settle(time.Second)
		p := a.Submit(t, "", "one").Prompt
		settle(9 * time.Second)
		if got := mail.All(); len(got) != 0 {
			t.Errorf("said before ten seconds: %v", got)
		}
		settle(time.Minute)
		if got := mail.Of(p.ID, core.EventNotice); len(got) != 1 || a.Read(t, p.ID).State != core.Queued {
			t.Errorf("told %d times, and the prompt is %s", len(got), a.Read(t, p.ID).State)
		}
		start(t, s, mail, config{Agent: schedtest.Agent(schedtest.Done), Terms: goesBy(fleet.Rules{})})
		settle(3 * time.Second)
		if got := mail.Of(p.ID, core.EventNotice); len(got) != 1 || a.Read(t, p.ID).State != core.Done {
			t.Errorf("served: told %d times, and the prompt is %s", len(got), a.Read(t, p.ID).State)
		}
	})
}
