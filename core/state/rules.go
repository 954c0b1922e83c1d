package state

import (
	"slices"
	"time"

	"paragents/core"
)

// Rules are rules that people stored with an approval, for a session or a workspace.
type Rules struct {
	Allow []StoredRule `json:"allow"`
}

// StoredRule is one of them, with where it came from.
type StoredRule struct {
	Rule    string      `json:"rule"`
	By      core.Person `json:"by"`
	At      time.Time   `json:"at"`
	Request core.Ref    `json:"request"` // the approval that led to it
	Show    string      `json:"show"`
	Used    time.Time   `json:"used,omitzero"` // last, within usedEvery
}

// Has reports whether a rule is among them.
func (r Rules) Has(rule string) bool {
	for _, old := range r.Allow {
		if old.Rule == rule {
			return true
		}
	}
	return false
}

// usedEvery is how exact the last use of a rule is.
const usedEvery = time.Hour

// Touch marks rules as used, and reports whether that is news.
func (r Rules) Touch(names []string, now time.Time) (news bool) {
	for i := range r.Allow {
		if old := &r.Allow[i]; slices.Contains(names, old.Rule) && now.Sub(old.Used) >= usedEvery {
			old.Used, news = now, true
		}
	}
	return news
}
