package fleet_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/fleet"
)

// What two replicas agree on is never looser than either, whoever asks whom.
func TestAgreementIsNeverLooser(t *testing.T) {
	rules := rapid.Custom(func(t *rapid.T) fleet.Rules {
		list := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"Bash(a:*)", "Bash(b:*)", "Read(c)", "Write(d)"}), rapid.ID)
		return fleet.Rules{Deny: list.Draw(t, "deny"), Ask: list.Draw(t, "ask"), Allow: list.Draw(t, "allow")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rules.Draw(t, "a"), rules.Draw(t, "b")
		one, other := a.With(b), b.With(a)
		for _, of := range []fleet.Rules{a, b} {
			for _, rule := range of.Deny {
				if !slices.Contains(one.Deny, rule) {
					t.Fatalf("%s is not denied any more", rule)
				}
			}
			for _, rule := range of.Ask {
				if !slices.Contains(one.Ask, rule) {
					t.Fatalf("%s is not asked any more", rule)
				}
			}
			for _, rule := range one.Allow {
				if !slices.Contains(of.Allow, rule) {
					t.Fatalf("%s is allowed though one does not allow it", rule)
				}
			}
		}
		sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
		if !slices.Equal(sorted(one.Deny), sorted(other.Deny)) || !slices.Equal(sorted(one.Ask), sorted(other.Ask)) || !slices.Equal(sorted(one.Allow), sorted(other.Allow)) {
			t.Fatalf("%v and %v", one, other)
		}
	})
}

func replica(id string, age time.Duration, change func(*fleet.Terms)) fleet.Terms {
	t := fleet.Terms{Replica: core.ReplicaID(id), Since: time.Unix(1000, 0).Add(-age), Platforms: []string{"slack"}, Managed: fleet.Rules{Deny: []string{"Bash(rm:*)", "Bash(dd:*)"}},
		Workspaces: map[string]fleet.Rules{"web": {Allow: []string{"Bash(make:*)"}}},
		Access:     access.Access{Configured: access.Grants{Everywhere: access.Roles{"slack:T/U1": access.Admin}}}}
	change(&t)
	return t
}

func TestOddNamesTheOneThatDiffers(t *testing.T) {
	as := func(*fleet.Terms) {}
	for name, c := range map[string]struct {
		all  []fleet.Terms
		want map[core.ReplicaID][]string
	}{
		"none":  {nil, nil},
		"equal": {[]fleet.Terms{replica("a", 1, as), replica("b", 2, func(t *fleet.Terms) { slices.Reverse(t.Managed.Deny) })}, nil},
		"one against two": {[]fleet.Terms{replica("a", 3, func(t *fleet.Terms) { t.Managed.Deny = nil }), replica("b", 2, as), replica("c", 1, as)},
			map[core.ReplicaID][]string{"a": {"rules"}}},
		"the newer of two": {[]fleet.Terms{replica("a", 1, func(t *fleet.Terms) { t.Access.ApproveOwn = true }), replica("b", 2, as)},
			map[core.ReplicaID][]string{"a": {"access"}}},
		"a workspace": {[]fleet.Terms{replica("a", 1, func(t *fleet.Terms) { t.Workspaces["web"] = fleet.Rules{} }), replica("b", 2, as)},
			map[core.ReplicaID][]string{"a": {"rules of workspace web"}}},
		"other workspaces":  {[]fleet.Terms{replica("a", 1, func(t *fleet.Terms) { t.Workspaces = map[string]fleet.Rules{"db": {}}; t.Managed = fleet.Rules{} }), replica("b", 2, as)}, nil},
		"another platform":  {[]fleet.Terms{replica("a", 1, func(t *fleet.Terms) { t.Platforms = []string{"terminal"}; t.Managed = fleet.Rules{} }), replica("b", 2, as)}, nil},
		"different in both": {[]fleet.Terms{replica("a", 1, func(t *fleet.Terms) { t.Access = access.Access{}; t.Managed = fleet.Rules{} }), replica("b", 2, as), replica("c", 3, as)}, map[core.ReplicaID][]string{"a": {"access", "rules"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fleet.Odd(c.all); !maps.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("odd are %v, want %v", got, c.want)
			}
		})
	}
}

func TestDigestsFollowWhatCounts(t *testing.T) {
	roles, rules := replica("a", 1, func(*fleet.Terms) {}).Digests()
	for name, c := range map[string]struct {
		change      func(*fleet.Terms)
		roles, rule bool // are the same
	}{
		"order":     {func(t *fleet.Terms) { slices.Reverse(t.Managed.Deny) }, true, true},
		"a rule":    {func(t *fleet.Terms) { t.Workspaces["web"] = fleet.Rules{} }, true, false},
		"a person":  {func(t *fleet.Terms) { t.Access.Configured.Everywhere["slack:T/U2"] = access.Viewer }, false, true},
		"the host":  {func(t *fleet.Terms) { t.Host = "other" }, true, true},
		"a machine": {func(t *fleet.Terms) { t.Access.Machine = access.Roles{"terminal:a@b": access.Admin} }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, u := replica("b", 2, c.change).Digests()
			if (r == roles) != c.roles || (u == rules) != c.rule {
				t.Errorf("roles %s, rules %s; want %v %v", r, u, c.roles, c.rule)
			}
		})
	}
}
