package access_test

import (
	"errors"
	"testing"

	"paragents/core"
	"paragents/core/access"
)

// While replicas differ, a configured role counts as far as all that speak at the place grant it; what the store holds, all of them hold.
func TestRolesThatReplicasDoNotShare(t *testing.T) {
	const ann, bob core.Person = "slack:T/ANN", "slack:T/BOB"
	slack, telegram := core.Place{Platform: "slack", Channel: "C"}, core.Place{Platform: "telegram", Channel: "1"}
	other := access.Access{ApproveOwn: true, Configured: access.Grants{Everywhere: access.Roles{ann: access.Operator}, Places: map[string]access.Roles{access.PlaceKey(slack): {bob: access.Viewer}}}}
	a := access.Access{ApproveOwn: true, Configured: access.Grants{Everywhere: access.Roles{ann: access.Admin, bob: access.Admin}},
		Machine: access.Roles{"terminal:me@here": access.Admin},
		Others: func(platform string) []access.Access {
			if platform == "slack" {
				return []access.Access{other}
			}
			return nil
		}}
	stored := access.Grants{Everywhere: access.Roles{bob: access.Approver}}
	for _, c := range []struct {
		who    core.Person
		at     core.Place
		stored access.Grants
		want   access.Role
	}{
		{ann, slack, access.Grants{}, access.Operator},
		{ann, telegram, access.Grants{}, access.Admin},
		{bob, slack, access.Grants{}, access.Viewer},
		{bob, core.Place{Platform: "slack", Channel: "D"}, access.Grants{}, access.Nobody},
		{bob, slack, stored, access.Approver},
		{"terminal:me@here", slack, access.Grants{}, access.Admin},
	} {
		if got := a.Role(c.stored, c.who, c.at); got != c.want {
			t.Errorf("%s at %s is %s, want %s", c.who, c.at.Key(), got, c.want)
		}
	}
	asked := core.Approval{Author: ann, Place: slack}
	if err := a.MayDecide(access.Grants{}, ann, asked, core.Once); err != nil {
		t.Errorf("the author: %v", err)
	}
	other.ApproveOwn = false
	if err := a.MayDecide(access.Grants{}, ann, asked, core.Once); !errors.Is(err, core.ErrForbidden) {
		t.Errorf("the author, where one replica lets nobody approve their own: %v", err)
	}
}
