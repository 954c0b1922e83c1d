package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/agent/transcript"
	"paragents/core/audit"
	"paragents/core/policy"
	"paragents/core/scheduler"
	"paragents/core/tool"
)

// maxParallel is how many read-only calls of one answer run at the same time.
const maxParallel = 8

// maxAsked is how many calls of one answer are asked about on one card; the others on the next.
const maxAsked = 10

// calls runs the calls of one answer that have no result yet: those without side effects that stand together in parallel, the others in order. The first one
// that a person must be asked about ends the run; all that have to be asked about are asked together. The rules are read again whenever something has run.
func (t *turns) calls(ctx context.Context, calls []transcript.Call) (scheduler.Outcome, error) {
	approvals, err := t.approvals(ctx)
	if err != nil {
		return scheduler.Outcome{}, err
	}
	var p *policy.Policy
	var reads []judged
	flush := func() error {
		if len(reads) == 0 {
			return nil
		}
		err := t.readAll(ctx, reads)
		reads, p = nil, nil
		return err
	}
	for i, c := range calls {
		if err := t.run.Boundary(ctx); err != nil {
			return scheduler.Outcome{}, err
		}
		if p == nil {
			if p, err = t.policy(ctx); err != nil {
				return scheduler.Outcome{}, err
			}
		}
		spec, plan, err := t.plan(ctx, c)
		if err != nil {
			if err := t.answer(ctx, c, ending(err), err.Error(), ""); err != nil {
				return scheduler.Outcome{}, err
			}
			continue
		}
		j := t.judge(p, c, spec, plan)
		if j.decision == policy.Allow && spec.ReadOnly && approvals[c.ID].ID == "" {
			if reads = append(reads, j); len(reads) == maxParallel {
				if err := flush(); err != nil {
					return scheduler.Outcome{}, err
				}
			}
			continue
		}
		if len(reads) > 0 { // they may take long: this call is judged behind them
			if err := flush(); err != nil {
				return scheduler.Outcome{}, err
			}
			if p, err = t.policy(ctx); err != nil {
				return scheduler.Outcome{}, err
			}
			j = t.judge(p, c, spec, plan)
		}
		ask, err := t.settle(ctx, j, approvals[c.ID])
		if err != nil {
			return scheduler.Outcome{}, err
		}
		if ask {
			return t.askAll(ctx, p, j, calls[i+1:], approvals), nil
		}
		p = nil
	}
	return scheduler.Outcome{}, flush()
}

// approvals are the newest approvals of the calls that the prompt waited for.
func (t *turns) approvals(ctx context.Context) (map[core.CallID]core.Approval, error) {
	list, err := t.run.Approvals(ctx)
	out := map[core.CallID]core.Approval{}
	for _, a := range list {
		out[a.Call] = a
	}
	return out, err
}

// settle deals with one call that is not simply read: it runs, is refused, or (ask) a person has to be asked.
func (t *turns) settle(ctx context.Context, j judged, a core.Approval) (ask bool, err error) {
	switch {
	case j.decision == policy.Deny:
		t.refused(ctx, j, j.reason)
		return false, t.answer(ctx, j.call, core.EndRefused, fmt.Sprintf(tellsRefused, j.reason), j.digest)
	case a.State == core.Denied && a.Digest == j.digest:
		reason := ""
		if a.Reason != "" {
			reason = " (" + a.Reason + ")"
		}
		return false, t.answer(ctx, j.call, core.EndDenied, fmt.Sprintf(tellsDenied, reason), j.digest)
	case a.State == core.Approved && a.Used.IsZero() && a.Digest == j.digest && !t.stale(j, a):
		return false, t.start(ctx, j, a.ID)
	case j.decision == policy.Allow:
		t.used(ctx, j)
		return false, t.start(ctx, j, "")
	case t.log.DeniedBefore(t.run.Prompt.ID, j.digest):
		return false, t.answer(ctx, j.call, core.EndDenied, tellsBefore, j.digest)
	case t.run.Prompt.Unattended || t.run.Prompt.Place.IsZero() || t.run.Prompt.Unreachable != "":
		t.refused(ctx, j, j.reason)
		t.run.Emit(core.Event{Type: core.EventApproval, ID: j.call.ID, Tool: j.spec.Name, Input: j.action.Input, Show: j.plan.Show, Rule: j.reason, State: "refused"})
		return false, t.answer(ctx, j.call, core.EndRefused, fmt.Sprintf(tellsNobody, j.reason, cmp.Or(t.run.Prompt.Unreachable, "it has no place for that")), j.digest)
	}
	return true, nil
}

// refused tells the audit log of a call that was not let through.
func (t *turns) refused(ctx context.Context, j judged, why string) {
	e := audit.Entry{What: "refused", Tool: j.spec.Name, Show: j.plan.Show, Digest: j.digest, Rule: j.rule, Checks: j.checks, Why: why}
	if err := t.run.Audit(ctx, e); err != nil {
		t.logger.Error("cannot write the audit log", "error", err)
	}
}

// askAll asks about a call and about all behind it that need it: one card. What was decided before and has not changed is not asked again.
func (t *turns) askAll(ctx context.Context, p *policy.Policy, first judged, rest []transcript.Call, approvals map[core.CallID]core.Approval) scheduler.Outcome {
	out := scheduler.Outcome{State: core.Waiting, Asks: []core.Approval{t.approval(first)}}
	for _, c := range rest {
		spec, plan, err := t.plan(ctx, c)
		if err != nil {
			continue // told to the model when its turn comes
		}
		j := t.judge(p, c, spec, plan)
		if a := approvals[c.ID]; a.Digest == j.digest && (a.State == core.Approved && !t.stale(j, a) || a.State == core.Denied) {
			out.Keep = append(out.Keep, a.ID)
			continue
		}
		if j.decision == policy.Ask && len(out.Asks) < maxAsked && !t.log.DeniedBefore(t.run.Prompt.ID, j.digest) {
			out.Asks = append(out.Asks, t.approval(j))
		}
	}
	return out
}

// start runs a call that the gate let through. Its intent is written first; after that it is never started again.
func (t *turns) start(ctx context.Context, j judged, approval core.ApprovalID) error {
	if !j.spec.ReadOnly || approval != "" {
		intent := core.Record{Kind: core.RecordIntent, Prompt: t.run.Prompt.ID, Time: t.run.Now(), Call: j.call.ID, Tool: j.spec.Name, Show: j.plan.Line,
			Digest: j.digest, Approval: approval, Claims: t.claims(j), Checks: j.checks}
		if err := t.run.Begin(ctx, intent, approval, j.rule); err != nil {
			var hit *core.Collision
			if errors.As(err, &hit) {
				return err
			}
			if errors.Is(err, core.ErrRefused) {
				return t.answer(ctx, j.call, core.EndRefused, err.Error(), j.digest)
			}
			return err
		}
		t.log.Add(intent)
	}
	rec := t.exec(ctx, j)
	if err := t.write(ctx, rec); err != nil {
		return err
	}
	return t.touched(ctx, j, rec.Changed)
}

// readAll runs read-only calls in parallel and writes their results in the order of the calls.
func (t *turns) readAll(ctx context.Context, reads []judged) error {
	t.used(ctx, reads...)
	records := make([]core.Record, len(reads))
	var wg sync.WaitGroup
	for i, j := range reads {
		wg.Go(func() { records[i] = t.exec(ctx, j) })
	}
	wg.Wait()
	return t.write(ctx, records...)
}

// exec runs a call to its end and makes its result.
func (t *turns) exec(ctx context.Context, j judged) core.Record {
	t.run.Emit(core.Event{Type: core.EventCall, ID: j.call.ID, Tool: j.spec.Name, Input: j.action.Input, Show: j.plan.Line})
	began := time.Now()
	res, err := j.plan.Run(ctx)
	rec := t.result(j.call, core.EndOK, res.Output)
	rec.Tool, rec.Digest, rec.Cut, rec.Seen, rec.Changed, rec.Changes = j.spec.Name, j.digest, res.Cut, res.Seen, res.Changed, res.Changes
	if err != nil {
		rec.Ending = core.EndError
		rec.Text = strings.TrimSpace(res.Output + "\nerror: " + err.Error())
		if ctx.Err() != nil {
			rec.Ending, rec.Text = core.EndInterrupted, strings.TrimSpace(res.Output+"\n"+tellsStopped)
		}
	}
	rec.Text = t.a.cfg.Redact(strings.ToValidUTF8(strings.ReplaceAll(rec.Text, "\x00", "\uFFFD"), "\uFFFD"))
	ok := rec.Ending == core.EndOK
	t.run.Emit(core.Event{Type: core.EventResult, ID: j.call.ID, Tool: j.spec.Name, Show: j.plan.Line, OK: &ok, Output: rec.Text, Cut: rec.Cut, Took: time.Since(began)})
	return rec
}

// write appends results. When the run was stopped meanwhile they go into the commit that ends it: what happened is written down all the same.
func (t *turns) write(ctx context.Context, records ...core.Record) error {
	if len(records) == 0 {
		return nil
	}
	t.log.Add(records...)
	if ctx.Err() != nil {
		t.late = append(t.late, records...)
		return context.Cause(ctx)
	}
	err := t.run.Append(ctx, records)
	if err != nil && ctx.Err() != nil {
		t.late = append(t.late, records...)
	}
	return err
}

// answer gives a call that does not run its result.
func (t *turns) answer(ctx context.Context, c transcript.Call, end core.Ending, text, digest string) error {
	rec := t.result(c, end, text)
	rec.Digest = digest
	ok := false
	t.run.Emit(core.Event{Type: core.EventResult, ID: c.ID, Tool: c.Name, OK: &ok, Output: text})
	return t.write(ctx, rec)
}

func ending(err error) core.Ending {
	var inv invalid
	if errors.As(err, &inv) || errors.Is(err, tool.ErrArguments) {
		return core.EndInvalid
	}
	return core.EndError
}
