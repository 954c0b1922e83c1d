package agent

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"paragents/core"
	"paragents/core/agent/transcript"
	"paragents/core/llm"
	"paragents/core/policy"
	"paragents/core/tool"
)

// planName is the tool that ends plan mode: its approval grants, for the prompt, the rules that it lists.
const planName = "propose_plan"

//go:embed propose_plan.md
var planText string

// planTool asks for the approval of a plan. It is the agent's own, because what it grants are the agent's rights.
type planTool struct{}

type planArguments struct {
	Plan  string   `json:"plan"`
	Rules []string `json:"rules"`
}

func (planTool) Spec() tool.Spec {
	return tool.Spec{Name: planName, Description: planText, Schema: json.RawMessage(`{"type":"object","properties":{` +
		`"plan":{"type":"string","description":"the plan in Markdown"},` +
		`"rules":{"type":"array","items":{"type":"string"},"description":"permissions that the plan needs, e.g. Write(src/app.go)"}},` +
		`"required":["plan","rules"],"additionalProperties":false}`)}
}

func (planTool) Plan(_ context.Context, env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	var a planArguments
	if err := tool.Args(arguments, &a); err != nil {
		return tool.Plan{}, err
	}
	if strings.TrimSpace(a.Plan) == "" {
		return tool.Plan{}, fmt.Errorf("%w: the plan is empty", tool.ErrArguments)
	}
	for _, r := range a.Rules {
		if _, err := policy.ParseRule(r); err != nil {
			return tool.Plan{}, fmt.Errorf("%w: %v", tool.ErrArguments, err)
		}
	}
	show := a.Plan + "\n\nallowed for this request:\n" + strings.Join(a.Rules, "\n")
	if len(a.Rules) == 0 {
		show = a.Plan + "\n\nnothing is allowed beforehand; each step asks"
	}
	return tool.Plan{Checks: []tool.Check{{Tool: planName}}, Show: show, Line: "approve the plan", Dir: env.Dir,
		Run: func(context.Context) (tool.Result, error) { return tool.Result{Output: tellsPlanGoes}, nil }}, nil
}

// granted are the rules of the plans that were approved in a prompt; ok is false when none was.
func granted(log *transcript.Log, p core.PromptID) (rules []string, ok bool) {
	arguments := map[core.CallID]string{}
	for _, r := range log.All() {
		for _, c := range r.Calls {
			arguments[c.ID] = c.Arguments
		}
		if r.Kind != core.RecordResult || r.Prompt != p || r.Tool != planName || r.Ending != core.EndOK {
			continue
		}
		var a planArguments
		if json.Unmarshal([]byte(arguments[r.Call]), &a) == nil {
			rules, ok = append(rules, a.Rules...), true
		}
	}
	return rules, ok
}

// planning reports whether the prompt may only read: the session is in plan mode, and no plan has been approved.
func (t *turns) planning() bool {
	_, approved := granted(t.log, t.run.Prompt.ID)
	return t.mode == core.ModePlan && !approved
}

// tools are what the model is offered now.
func (t *turns) tools() []llm.Tool {
	var out []llm.Tool
	for _, tl := range t.a.cfg.Tools {
		if spec := tl.Spec(); t.ws.Capabilities[spec.Capability] && (spec.ReadOnly || !t.planning()) {
			out = append(out, llm.Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
		}
	}
	if t.planning() {
		spec := planTool{}.Spec()
		out = append(out, llm.Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	return out
}
