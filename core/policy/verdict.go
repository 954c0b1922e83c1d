package policy

import (
	"fmt"

	"paragents/core/policy/files"
)

// Verdict is the outcome of a judgement and all that a person needs to see of it.
type Verdict struct {
	Decision Decision
	Reason   string // one sentence: the rule that decided and its layer, or what no rule covers
	Rule     string // the rule that decided, empty if none did
	Layer    string // its layer

	Parts   []string // commands found, in canonical form
	Reads   []string // paths: P, P/** with all below, a glob, or ? for one that is not known
	Writes  []string // the same
	URLs    []string
	Scripts []string // absolute paths of files that the call would run by name

	Opaque  bool     // there is a reason to ask that no rule lifts
	Confirm bool     // a rule that wants a second press matches
	Offers  []string // the rules that would have to be stored for the call to be allowed; empty if none may be offered
	Wider   []string // as long as Offers: a wider rule that may be offered instead of the one at its place, or empty
	Matches []Match  // every rule that spoke, for an explanation
}

// Match is one rule that spoke about one thing of the call.
type Match struct {
	Layer, List, Rule string
	Subject           string // the command, path or URL
	Certain           bool   // deny and ask: yes, not maybe
}

// tally collects what the rules say about the things of a call.
type tally struct {
	policy  *Policy
	view    *files.View
	world   World
	verdict Verdict

	deny, ask, maybe string // reasons
	denier, asker    *rule
	missing          []string // what no allow rule covers
	reasons          []string // reasons to ask that no rule lifts
	offers           []offer
	unofferable      bool
}

// speak notes that a deny, ask or confirm rule matched a thing.
func (t *tally) speak(r *rule, a files.Answer, subject string) {
	if a == files.No {
		return
	}
	if r.list == confirmList {
		t.verdict.Confirm = true
		return
	}
	t.verdict.Matches = append(t.verdict.Matches, Match{
		Layer: r.layer, List: r.list.String(), Rule: r.String(), Subject: subject, Certain: a == files.Yes,
	})
	switch {
	case a == files.Maybe:
		if t.maybe == "" {
			t.maybe = fmt.Sprintf("%s may be covered by %s rule %s of layer %s", subject, r.list, r, r.layer)
			if t.asker == nil {
				t.asker = r
			}
		}
		t.unofferable = true
	case r.list == denyList:
		if t.denier == nil {
			t.denier = r
			t.deny = fmt.Sprintf("%s is denied by rule %s of layer %s", subject, r, r.layer)
		}
	default:
		if t.ask == "" {
			t.asker = r
			t.ask = fmt.Sprintf("%s is asked by rule %s of layer %s", subject, r, r.layer)
		}
		t.unofferable = true
	}
}

func (t *tally) allowed(r *rule, subject string) {
	t.verdict.Matches = append(t.verdict.Matches, Match{
		Layer: r.layer, List: r.list.String(), Rule: r.String(), Subject: subject, Certain: true,
	})
}

func (t *tally) miss(subject string, offers ...offer) {
	t.missing = append(t.missing, subject)
	if len(offers) == 0 {
		t.unofferable = true
	}
	t.offers = append(t.offers, offers...)
}

// refuse denies without a rule.
func (t *tally) refuse(why string) {
	if t.deny == "" {
		t.deny = why
	}
}

// doubt asks without a rule, and no rule lifts it.
func (t *tally) doubt(why string) { t.reasons = append(t.reasons, why) }

// decide turns what was collected into the verdict.
func (t *tally) decide() Verdict {
	v := t.verdict
	v.Opaque = len(t.reasons) > 0
	var by *rule
	switch {
	case t.deny != "":
		v.Decision, v.Reason, by = Deny, t.deny, t.denier
	case t.ask != "":
		v.Decision, v.Reason, by = Ask, t.ask, t.asker
	case len(t.reasons) > 0:
		v.Decision, v.Reason = Ask, t.reasons[0]
	case t.maybe != "":
		v.Decision, v.Reason, by = Ask, t.maybe, t.asker
	case len(t.missing) > 0:
		v.Decision, v.Reason = Ask, fmt.Sprintf("no rule allows %s", t.missing[0])
	default:
		v.Decision, v.Reason = Allow, "every part is allowed"
		if len(v.Matches) == 1 {
			m := v.Matches[0]
			v.Reason, v.Rule, v.Layer = fmt.Sprintf("allowed by rule %s of layer %s", m.Rule, m.Layer), m.Rule, m.Layer
		}
	}
	if by != nil {
		v.Rule, v.Layer = by.String(), by.layer
	}
	if v.Decision == Ask && !t.unofferable && !v.Opaque {
		v.Offers, v.Wider = t.distinct()
	}
	return v
}

// distinct returns the offers without repetition. A line of several commands gets no wider ones: nobody reads so much.
func (t *tally) distinct() (rules, wider []string) {
	seen := map[string]bool{}
	for _, o := range t.offers {
		if seen[o.rule] {
			continue
		}
		seen[o.rule] = true
		if len(t.verdict.Parts) > 1 {
			o.wider = ""
		}
		rules, wider = append(rules, o.rule), append(wider, o.wider)
	}
	return rules, wider
}

func unique(texts []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, x := range texts {
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	return out
}
