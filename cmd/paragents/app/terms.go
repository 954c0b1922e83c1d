package app

import (
	"paragents/cmd/paragents/config"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/agent"
	"paragents/core/fleet"
	"paragents/core/policy"
)

// rights are who may do what by the configuration, and who is an admin on this machine.
func rights(cfg *config.Config, machine []core.Person) access.Access {
	a := access.Access{Configured: grants(cfg), ApproveOwn: cfg.Approvals.ApproveOwn, Machine: access.Roles{}}
	for _, p := range machine {
		a.Machine[p] = access.Admin
	}
	return a
}

// terms are what this process goes by, for the other replicas.
func terms(cfg *config.Config, spaces []agent.Workspace, adapters []core.Adapter) fleet.Terms {
	t := fleet.Terms{Access: rights(cfg, nil), Managed: rules(policy.Layer{Deny: cfg.Rules.Deny, Ask: cfg.Rules.Ask, Allow: cfg.Rules.Allow}), Workspaces: map[string]fleet.Rules{}}
	for _, ad := range adapters {
		t.Platforms = append(t.Platforms, ad.Capabilities().Platform)
	}
	for _, w := range spaces {
		t.Workspaces[w.Name] = rules(w.Rules)
	}
	return t
}

func rules(l policy.Layer) fleet.Rules { return fleet.Rules{Deny: l.Deny, Ask: l.Ask, Allow: l.Allow} }

// granted are the accesses of terms.
func granted(all []fleet.Terms) []access.Access {
	out := make([]access.Access, len(all))
	for i, t := range all {
		out[i] = t.Access
	}
	return out
}
