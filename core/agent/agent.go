// Package agent runs prompts: it asks the model, puts every tool call before the gate, runs what the gate lets through, and writes
// down each step before the next, so that any other replica can go on where this one stopped.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/template"
	"time"

	"golang.org/x/sync/semaphore"

	"paragents/core"
	"paragents/core/agent/transcript"
	"paragents/core/llm"
	"paragents/core/policy"
	"paragents/core/sandbox"
	"paragents/core/scheduler"
	"paragents/core/tool"
	"paragents/core/worktree"
)

// Workspace is a directory that agents work in.
type Workspace struct {
	Name         string
	Dir          string // absolute, links resolved
	Capabilities map[string]bool
	Rules        policy.Layer // of the operator, for this workspace
}

// Limits bound one prompt; a person who says continue allows the same again.
type Limits struct {
	Turns  int           // answers of the model; default 50
	Time   time.Duration // of one run; default 30 minutes
	Tokens int64         // sent and received; 0: no limit
	Money  float64       // by Price; 0: no limit
	Price  Price
}

// Price is what a million tokens cost: sent, received, and sent but known to the provider.
type Price struct{ In, Out, Cached float64 }

// Of is what was used in money.
func (p Price) Of(u core.Usage) float64 {
	return (p.In*float64(u.In-u.Cached) + p.Cached*float64(u.Cached) + p.Out*float64(u.Out)) / 1e6
}

// Config is what an agent needs. Model, Tools and Workspaces have no default.
type Config struct {
	Model      llm.Model
	Tools      []tool.Tool
	Workspaces []Workspace
	Managed    policy.Layer // the operator's rules for everything
	Protected  []string     // absolute paths that no tool may touch: the configuration, the state
	Sandbox    *sandbox.Runner
	// Forecast is a model that is asked, before a prompt's first run, what it will write. Nil: nobody is, the text alone is read.
	Forecast llm.Model
	// Git makes the worktrees of isolated sessions. Nil: there are none.
	Git *worktree.Git
	// Fetch opens an attachment; the agent closes it. Nil: there are none.
	Fetch func(ctx context.Context, p core.Place, a core.Attachment) (io.ReadCloser, error)
	// History gives what was written at a place before a message, oldest first and without what the bot wrote: the newest n at most, and whether there was more. Nil, or
	// nothing: it cannot be told there.
	History func(ctx context.Context, p core.Place, before string, n int) (said []core.Inbound, more bool, err error)
	Home    string // of the user that tools run as
	// MaxCommands is how many commands run at the same time on this replica. Default 8.
	MaxCommands int
	Limits      Limits
	// Context is how many characters of conversation the model is given; what is over it is shortened. Default 400,000.
	Context int
	// Redact takes secrets out of what tools and the model say, before it is kept or shown. Default: nothing is taken out.
	Redact func(text string) string
	Logger *slog.Logger
}

var _ scheduler.Agent = (*Agent)(nil)

// Agent implements scheduler.Agent.
type Agent struct {
	cfg      Config
	commands *semaphore.Weighted
	tools    map[string]tool.Tool
	system   *template.Template
}

// New makes an agent.
func New(cfg Config) *Agent {
	if cfg.MaxCommands == 0 {
		cfg.MaxCommands = 8
	}
	if cfg.Limits.Turns == 0 {
		cfg.Limits.Turns = 50
	}
	if cfg.Limits.Time == 0 {
		cfg.Limits.Time = 30 * time.Minute
	}
	if cfg.Context == 0 {
		cfg.Context = 400_000
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Agent{cfg: cfg, commands: semaphore.NewWeighted(int64(cfg.MaxCommands)), tools: map[string]tool.Tool{},
		system: template.Must(template.New("system").Parse(systemText))}
	for _, t := range append(slices.Clone(cfg.Tools), planTool{}) {
		a.tools[t.Spec().Name] = t
	}
	if cfg.Redact == nil {
		a.cfg.Redact = func(text string) string { return text }
	}
	return a
}

// Bounds of a single prompt that no person lifts.
const (
	maxInvalid     = 3 // answers in a row whose calls could not be understood
	maxEmpty       = 1 // empty answers that are asked again
	maxCompactions = 2 // shortenings in a row without an answer between
)

// Run works on a prompt until it ends, has to wait for people, or is stopped.
func (a *Agent) Run(ctx context.Context, r *scheduler.Run) scheduler.Outcome {
	t, err := a.open(ctx, r)
	if err != nil {
		return t.fail(ctx, err)
	}
	defer t.close()
	out, err := t.loop(ctx)
	if err != nil {
		return t.fail(ctx, err)
	}
	return t.finish(out)
}

// loop goes round: run the calls that have no result, ask the model, until there is an outcome.
func (t *turns) loop(ctx context.Context) (scheduler.Outcome, error) {
	if err := t.repair(ctx); err != nil {
		return scheduler.Outcome{}, err
	}
	if out, err := t.gather(ctx); err != nil || out.State != "" {
		return out, err
	}
	if err := t.foresee(ctx); err != nil {
		return scheduler.Outcome{}, err
	}
	for {
		if calls := t.log.Open(t.run.Prompt.ID); len(calls) > 0 {
			if out, err := t.calls(ctx, calls); err != nil || out.State != "" {
				return out, err
			}
		}
		if err := t.run.Boundary(ctx); err != nil {
			return scheduler.Outcome{}, err
		}
		if question := t.limit(); question != "" {
			return scheduler.Outcome{State: core.Waiting, Question: question, Choices: []string{core.ChoiceContinue, core.ChoiceStop}}, nil
		}
		steered, err := t.run.Steered(ctx)
		if err != nil {
			return scheduler.Outcome{}, err
		}
		t.log.Add(steered...)
		if out, err := t.ask(ctx); err != nil || out.State != "" {
			return out, err
		}
	}
}

// ask gets the model's next answer and writes it down, if it has calls; an answer without any is the outcome.
func (t *turns) ask(ctx context.Context) (scheduler.Outcome, error) {
	reply, err := t.complete(ctx)
	var fault *llm.Error
	if errors.As(err, &fault) {
		return t.faulted(fault), nil
	}
	if err != nil {
		return scheduler.Outcome{}, err
	}
	t.asked++
	t.usage = t.usage.Add(reply.Usage)
	rec := core.Record{Kind: core.RecordAssistant, Prompt: t.run.Prompt.ID, Time: t.run.Now(), Text: t.a.cfg.Redact(strings.ToValidUTF8(reply.Text, "\uFFFD")),
		Calls: t.log.Normal(reply.Calls), Usage: &reply.Usage, Finish: reply.Finish}
	if len(rec.Calls) > 0 {
		if err := t.run.Append(ctx, []core.Record{rec}); err != nil {
			return scheduler.Outcome{}, err
		}
		t.log.Add(rec)
		return scheduler.Outcome{}, nil
	}
	out := scheduler.Outcome{State: core.Done, Answer: rec.Text}
	if strings.TrimSpace(rec.Text) == "" {
		out.Answer = t.log.Silence(t.run.Prompt.ID)
		rec.Text = out.Answer
	}
	if reply.Finish == "length" {
		out.Answer += "\n\n" + saysCut
	}
	out.Records = []core.Record{rec}
	return out, nil
}

// complete asks the model: again with a nudge when it said nothing, and with less when it was too much.
func (t *turns) complete(ctx context.Context) (llm.Reply, error) {
	ask, done := t.run.Asking(ctx)
	defer done()
	t.run.Emit(core.Event{Type: core.EventTurn, Turn: t.log.Turns(t.run.Prompt.ID) + 1})
	empty, compactions, budget := 0, 0, t.a.cfg.Context
	nudge := ""
	for {
		conversation, shortened := t.log.Conversation(t.system, budget)
		if shortened {
			t.run.Emit(core.Event{Type: core.EventCompacted, Text: saysCompacted})
		}
		if nudge != "" {
			conversation = append(conversation, llm.Message{Role: llm.User, Content: nudge})
		}
		stream := newStream(t.run, t.a.cfg.Redact)
		reply, err := t.a.cfg.Model.Complete(ask, llm.Request{Messages: conversation, Tools: t.tools()}, stream.progress())
		stream.close()
		var fault *llm.Error
		switch {
		case errors.As(err, &fault) && fault.Fault == llm.FaultContext && compactions < maxCompactions:
			before := transcript.Size(conversation)
			compactions++
			budget = min(budget, before) / 2
			if less, _ := t.log.Conversation(t.system, budget); transcript.Size(less) >= before {
				return reply, err // nothing more can be left out: no use in asking again
			}
			continue
		case err != nil && ask.Err() != nil:
			return reply, context.Cause(ask)
		case err != nil:
			return reply, err
		}
		if strings.TrimSpace(reply.Text) == "" && len(reply.Calls) == 0 && empty < maxEmpty {
			empty++
			t.usage = t.usage.Add(reply.Usage)
			nudge = asksAgain
			continue
		}
		return reply, nil
	}
}

// faulted turns an error of the model into an outcome.
func (t *turns) faulted(f *llm.Error) scheduler.Outcome {
	switch f.Fault {
	case llm.FaultAccount:
		return scheduler.Outcome{State: core.Waiting, Question: f.Text, Choices: []string{core.ChoiceTryAgain, core.ChoiceStop}}
	case llm.FaultContext:
		return scheduler.Outcome{State: core.Failed, Error: fmt.Sprintf(saysTooLong, f.Text)}
	}
	return scheduler.Outcome{State: core.Failed, Error: f.Text + saysRetry}
}

// limit says which limit the prompt has reached; "" when none.
func (t *turns) limit() string {
	p, l, times := t.run.Prompt, t.a.cfg.Limits, t.run.Prompt.Extra+1
	tokens := p.Usage.Add(t.usage)
	switch {
	case t.log.Denials(p.ID) >= 2*times:
		return saysDenied
	case t.log.Invalid(p.ID) >= maxInvalid*times:
		return saysInvalid
	case t.log.Turns(p.ID) >= l.Turns*times:
		return fmt.Sprintf(saysTurns, t.log.Turns(p.ID))
	case time.Since(t.began) > l.Time:
		return fmt.Sprintf(saysTime, l.Time)
	case l.Tokens > 0 && tokens.In+tokens.Out >= l.Tokens*int64(times):
		return fmt.Sprintf(saysTokens, tokens.In+tokens.Out)
	case l.Money > 0 && l.Price.Of(tokens) >= l.Money*float64(times):
		return fmt.Sprintf(saysMoney, l.Price.Of(tokens))
	}
	return ""
}

// fail is the outcome of a run that could not go on: stopped from outside, or broken.
func (t *turns) fail(ctx context.Context, err error) scheduler.Outcome {
	var hit *core.Collision
	switch {
	case errors.As(err, &hit):
		return t.finish(scheduler.Outcome{State: core.Blocked, Conflict: &hit.Conflict})
	case errors.Is(err, scheduler.ErrParked), ctx.Err() != nil:
		return t.finish(scheduler.Outcome{State: core.Queued})
	}
	return t.finish(scheduler.Outcome{State: core.Failed, Error: err.Error() + saysRetry})
}

// finish adds what this run used and did to an outcome.
func (t *turns) finish(out scheduler.Outcome) scheduler.Outcome {
	out.Records = append(t.late, out.Records...)
	out.Turns, out.Usage, out.Files = t.asked, t.usage, t.log.Changed(t.run.Prompt.ID)
	return out
}

func (a *Agent) workspace(name string) (Workspace, bool) {
	i := slices.IndexFunc(a.cfg.Workspaces, func(w Workspace) bool { return w.Name == name })
	if i < 0 {
		return Workspace{}, false
	}
	return a.cfg.Workspaces[i], true
}
