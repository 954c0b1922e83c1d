// Package policy judges tool calls: may a call run, must a person be asked, or is it denied. A verdict is a pure
// function of the call, the rules and the facts about the world; nothing here runs or changes anything.
//
// Three answers are possible where a rule meets a call: yes, no and maybe. Deny and ask rules fire on yes, a maybe asks,
// and allow rules count only on yes. Every command, path and URL of a call needs an allow rule of its own; deny wins
// over ask, and ask over allow, whatever layer they come from.
package policy

import (
	"fmt"
	"net/netip"
	"strings"

	"paragents/core/policy/command"
	"paragents/core/policy/files"
)

// Decision is the outcome of a judgement. The zero value denies.
type Decision int

// Decisions, in rising order of freedom.
const (
	Deny Decision = iota
	Ask
	Allow
)

func (d Decision) String() string {
	switch d {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	}
	return "deny"
}

// Call is one tool call as the gate sees it.
type Call struct {
	Tool  string // Bash, Read, Write, Edit, WebFetch, MCP, or the name of another tool, which only its name is judged by
	Input string // the command, path, URL or server:tool, exactly as the agent sent it
	Dir   string // absolute working directory of a Bash call; empty means the workspace
}

// World holds the facts that a call is judged by. Its answers must not change during one judgement.
type World interface {
	files.World
	// Resolve returns the addresses of a host, or none if it has none. It is asked only about hosts that an allow
	// rule covers, so that a name that the agent made up reaches no name server before a person said yes.
	Resolve(host string) []netip.Addr
	// Redirect returns where a GET of the URL is known to lead, and false if it leads nowhere or that is not known.
	Redirect(url string) (string, bool)
}

// Layer is a set of rules from one place.
type Layer struct {
	Name    string // managed, workspace, user, session, repository: shown in reasons; managed has rights of its own
	Deny    []string
	Ask     []string
	Allow   []string
	Confirm []string // rules whose calls need a second press when they are asked
	// Unconfirmed says that nobody with the right to do so has confirmed the layer: its allow rules do not count.
	Unconfirmed bool
}

// managed is the name of the layer of the operator.
const managed = "managed"

// Options are the parts of a policy that are not rules. The zero value judges by the rules alone.
type Options struct {
	// BuiltIns adds the rules that stand in front of every configuration: see builtin.go.
	BuiltIns bool
	// ReadDefault allows reading in the workspace where no rule speaks, but for files that look like secrets.
	ReadDefault bool
	// ManagedAllowOnly makes the allow rules of other layers than managed void.
	ManagedAllowOnly bool
	// Protected are absolute paths that no tool reads or writes, whatever the rules say. A directory protects what is
	// below it.
	Protected []string
	// Around is the absolute path of a directory above the workspace whose bot's own folder is protected as well, but for the
	// workspace itself, which lies in it; "" for none.
	Around string
}

// Policy is a set of compiled rules. It is safe for concurrent use.
type Policy struct {
	table   *command.Table
	rules   map[string][]*rule // by tool
	options Options
}

// rule is a compiled Rule with its place.
type rule struct {
	Rule
	layer   string
	list    list
	lift    bool          // a built-in that an allow rule of the managed layer lifts
	outside files.Pattern // a built-in that speaks only about paths that this does not cover
	not     bool          // outside is set
	sure    bool          // speaks only on yes
}

// list is the list of a layer that a rule stands in.
type list int

const (
	denyList list = iota
	askList
	allowList
	confirmList
)

func (l list) String() string { return [...]string{"deny", "ask", "allow", "confirm"}[l] }

// Compile compiles the rules of all layers. A rule that does not parse is reported and ignored, and so are the allow
// rules of its layer; the policy is usable in any case.
func Compile(layers []Layer, o Options) (*Policy, []error) {
	var errs []error
	p := &Policy{rules: map[string][]*rule{}, options: o}
	table, err := command.Load()
	if err != nil {
		errs = append(errs, err)
	}
	p.table = table
	if o.BuiltIns {
		errs = append(errs, p.addBuiltIns()...)
	}
	for _, path := range o.Protected {
		p.addProtected(strings.TrimSuffix(path, "/") + "/**")
	}
	if o.Around != "" {
		for _, pattern := range protected {
			for _, r := range p.addProtected(strings.TrimSuffix(o.Around, "/") + "/" + pattern) {
				r.outside, r.not = files.ParsePattern("./**"), true
			}
		}
	}
	for _, l := range layers {
		errs = append(errs, p.addLayer(l)...)
	}
	return p, errs
}

func (p *Policy) addLayer(l Layer) []error {
	var errs []error
	var parsed []*rule
	for at, texts := range [][]string{denyList: l.Deny, askList: l.Ask, allowList: l.Allow, confirmList: l.Confirm} {
		for _, text := range texts {
			r, err := p.parse(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("read %s rules of layer %s: %w", list(at), l.Name, err))
				continue
			}
			parsed = append(parsed, &rule{Rule: r, layer: l.Name, list: list(at)})
		}
	}
	void := len(errs) > 0 || l.Unconfirmed || p.options.ManagedAllowOnly && l.Name != managed
	for _, r := range parsed {
		if r.list != allowList || !void {
			p.rules[r.Tool] = append(p.rules[r.Tool], r)
		}
	}
	return errs
}
