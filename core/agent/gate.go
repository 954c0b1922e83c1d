package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"paragents/core"
	"paragents/core/agent/transcript"
	"paragents/core/fleet"
	"paragents/core/policy"
	"paragents/core/state"
	"paragents/core/tool"
)

// judged is a plan with the gate's verdict.
type judged struct {
	call   transcript.Call
	plan   tool.Plan
	spec   tool.Spec
	action core.Action
	digest string
	checks []string // the call in the terms of the rules

	decision policy.Decision
	reason   string
	rule     string
	writes   []string
	names    []string                  // paths read and written
	commands map[string]policy.Verdict // of the shell commands that it runs
	hosts    []string
	offers   []string
	wider    []string // in place of offers
	confirm  bool
	lifted   map[string][]string // by layer: the allow rules that cover it
}

// The layers of rules that people stored.
const (
	storedHere    = "workspace (stored)"
	storedSession = "session"
)

// confirm are the rules whose calls a person has to press twice for: what they do cannot be taken back.
var confirm = []string{"Bash(git push --force:*)", "Bash(rm -r:*)"}

// policy compiles the rules that hold now: the operator's, the workspace's, what people stored, and the session's mode.
func (t *turns) policy(ctx context.Context) (*policy.Policy, error) {
	now, err := t.run.Standing(ctx)
	if err != nil {
		return nil, err
	}
	t.mode, t.standing = now.Mode, now
	managed := t.a.cfg.Managed
	managed.Name, managed.Confirm = "managed", confirm
	operator := t.ws.Rules
	operator.Name = "workspace"
	for _, o := range now.Others {
		if theirs, serves := o.Workspaces[t.ws.Name]; serves {
			managed, operator = agreed(managed, o.Managed), agreed(operator, theirs)
		}
	}
	layers := []policy.Layer{managed, operator, stored(storedHere, now.Workspace), stored(storedSession, now.Session)}
	if t.mode == core.ModeEdits {
		layers = append(layers, policy.Layer{Name: "mode edits", Allow: []string{"Write(./**)"}})
	}
	if rules, ok := granted(t.log, t.run.Prompt.ID); ok {
		layers = append(layers, policy.Layer{Name: "approved plan", Allow: rules})
	}
	t.layers = layers
	p, errs := t.compile(layers)
	for _, err := range errs {
		t.logger.Warn("a rule cannot be read; its layer's allow rules do not count", "error", err)
	}
	t.env.Readable = func(path string) bool {
		return p.Judge(policy.Call{Tool: "Read", Input: path}, t.world).Decision == policy.Allow
	}
	return p, nil
}

func (t *turns) compile(layers []policy.Layer) (*policy.Policy, []error) {
	return policy.Compile(layers, policy.Options{BuiltIns: true, ReadDefault: true, Protected: t.a.cfg.Protected, Around: t.around})
}

// replay tries what a wider yes would store: the call must be allowed then. What does not hold is not offered.
func (t *turns) replay(checks []tool.Check, dir string, offers []string) []string {
	if len(offers) == 0 {
		return nil
	}
	p, errs := t.compile(append(slices.Clone(t.layers), policy.Layer{Name: storedSession, Allow: offers}))
	if len(errs) > 0 {
		return nil
	}
	for _, c := range checks {
		if p.Judge(policy.Call{Tool: c.Tool, Input: c.Input, Dir: dir}, t.world).Decision != policy.Allow {
			return nil
		}
	}
	return offers
}

// agreed is a layer as far as another replica's agrees.
func agreed(l policy.Layer, theirs fleet.Rules) policy.Layer {
	r := fleet.Rules{Deny: l.Deny, Ask: l.Ask, Allow: l.Allow}.With(theirs)
	l.Deny, l.Ask, l.Allow = r.Deny, r.Ask, r.Allow
	return l
}

func stored(name string, rules state.Rules) policy.Layer {
	l := policy.Layer{Name: name}
	for _, r := range rules.Allow {
		l.Allow = append(l.Allow, r.Rule)
	}
	return l
}

// judge is the one gate: every call of every kind of run passes it, just before it would run. The strictest verdict about anything that the call does is the
// verdict.
func (t *turns) judge(p *policy.Policy, c transcript.Call, spec tool.Spec, plan tool.Plan) judged {
	j := judged{call: c, plan: plan, spec: spec, decision: policy.Allow, writes: slices.Clone(plan.Writes), lifted: map[string][]string{}}
	j.action = core.Action{Tool: spec.Name, Input: []byte(c.Arguments), Show: plan.Show, Dir: plan.Dir}
	checks := plan.Checks
	if len(checks) == 0 { // a tool that names nothing is judged by its own name
		checks = []tool.Check{{Tool: spec.Name}}
	}
	offerable := true
	for _, check := range checks {
		j.checks = append(j.checks, check.Tool+"("+check.Input+")")
		v := p.Judge(policy.Call{Tool: check.Tool, Input: check.Input, Dir: plan.Dir}, t.world)
		j.writes = append(j.writes, v.Writes...)
		j.names = append(append(j.names, v.Reads...), v.Writes...)
		if check.Tool == "Bash" {
			if j.commands == nil {
				j.commands = map[string]policy.Verdict{}
			}
			j.commands[check.Input] = v
		}
		j.hosts = append(j.hosts, v.URLs...)
		j.confirm = j.confirm || v.Confirm
		for _, m := range v.Matches {
			if m.Layer == storedHere || m.Layer == storedSession {
				j.lifted[m.Layer] = append(j.lifted[m.Layer], m.Rule)
			}
		}
		unbound := ""
		for _, path := range v.Scripts {
			if j.action.Scripts == nil {
				j.action.Scripts = map[string]string{}
			}
			sum, ok := hashFile(path)
			if j.action.Scripts[path] = sum; !ok {
				unbound = path
			}
		}
		if v.Decision == policy.Ask && unbound != "" {
			v.Decision, v.Reason = policy.Deny, fmt.Sprintf(tellsUnbound, unbound, maxScript>>20)
		}
		if v.Decision == policy.Ask {
			j.offers = append(j.offers, v.Offers...)
			for i, rule := range v.Offers {
				j.wider = append(j.wider, cmp.Or(v.Wider[i], rule))
			}
			offerable = offerable && len(v.Offers) > 0
		}
		if v.Decision < j.decision || j.rule == "" && j.decision == policy.Allow {
			j.decision, j.reason, j.rule = v.Decision, v.Reason, v.Rule
		}
	}
	if t.planning() && !spec.ReadOnly && spec.Name != planName {
		j.decision, j.reason = policy.Deny, tellsPlanMode
	}
	if !offerable {
		j.offers, j.wider = nil, nil
	}
	j.offers = t.replay(checks, plan.Dir, j.offers)
	if j.wider = t.replay(checks, plan.Dir, j.wider); slices.Equal(j.wider, j.offers) || len(j.offers) == 0 {
		j.wider = nil
	}
	for i, path := range j.writes {
		if rel, ok := strings.CutPrefix(path, t.ws.Dir+"/"); ok {
			j.writes[i] = rel
		}
	}
	slices.Sort(j.writes)
	j.writes = slices.Compact(j.writes)
	j.digest = j.action.Digest()
	return j
}

// used notes which stored rules let calls through.
func (t *turns) used(ctx context.Context, calls ...judged) {
	for _, j := range calls {
		if err := t.run.Used(ctx, t.standing, j.lifted[storedSession], j.lifted[storedHere]); err != nil {
			t.logger.Info("the last use of a stored rule is not noted", "error", err)
		}
	}
}

// approval is the question that the verdict asks.
func (t *turns) approval(j judged) core.Approval {
	a := core.Approval{Call: j.call.ID, Action: j.action, Digest: j.digest, Rule: j.reason, Writes: j.writes, Hosts: j.hosts, Offers: j.offers, Wider: j.wider, Facts: t.facts(j),
		Entered: t.log.Entered(t.run.Prompt)}
	if j.confirm {
		a.Confirm = j.plan.Line
	}
	return a
}

// maxScript is the largest script that is hashed, in bytes.
const maxScript = 64 << 20

// hashFile is the SHA-256 of a file's content in hex; "missing" when there is none. ok is false for what cannot be bound: directories, pipes, what is too large, what
// cannot be read.
func hashFile(path string) (sum string, ok bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would wait for somebody who writes
	if err != nil {
		return "missing", errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
		return "", false
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxScript)); err != nil {
		return "", false
	}
	return hex.EncodeToString(h.Sum(nil)), true
}

// plan understands a call. The error is for the model.
func (t *turns) plan(ctx context.Context, c transcript.Call) (tool.Spec, tool.Plan, error) {
	if c.Garbled() {
		if t.log.Finish(c.Prompt) == "length" {
			return tool.Spec{}, tool.Plan{}, invalid(tellsCutOff)
		}
		return tool.Spec{}, tool.Plan{}, invalid(tellsNotObject)
	}
	offers := t.tools()
	names := make([]string, 0, len(offers))
	for _, o := range offers {
		names = append(names, o.Name)
	}
	if !slices.Contains(names, c.Name) {
		return tool.Spec{}, tool.Plan{}, invalid(fmt.Sprintf(tellsUnknown, c.Name, strings.Join(names, ", ")))
	}
	tl := t.a.tools[c.Name]
	plan, err := tl.Plan(ctx, t.env, []byte(c.Arguments))
	return tl.Spec(), plan, err
}

// invalid is an error of a call that could not be understood at all.
type invalid string

func (e invalid) Error() string { return string(e) }
