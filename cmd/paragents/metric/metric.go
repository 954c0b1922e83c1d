// Package metric counts what a replica does, for Prometheus.
//
// What happened is counted where it becomes true: in the batches that the store took. So nothing is counted that was refused, the core knows nothing of metrics, and a
// commit that was repeated after a lost answer counts once. Gauges are read from the store when somebody asks, and are the same on every replica.
package metric

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"paragents/core/audit"
	"paragents/core/llm"
	"paragents/core/state"
	"paragents/store"
)

// Meter holds the metrics of one replica. Its methods may be called from any goroutine.
type Meter struct {
	registry  *prometheus.Registry
	prompts   *prometheus.CounterVec
	calls     *prometheus.CounterVec
	approvals *prometheus.CounterVec
	takeovers prometheus.Counter
	fenced    prometheus.Counter
	commits   *prometheus.CounterVec
	sent      *prometheus.CounterVec
	rests     *prometheus.CounterVec
	asked     *prometheus.CounterVec
	tokens    *prometheus.CounterVec
	turns     prometheus.Histogram
}

// New makes a meter with everything at zero.
func New() *Meter {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "paragents", Name: name, Help: help}, labels)
	}
	m := &Meter{
		registry:  prometheus.NewRegistry(),
		prompts:   counter("prompts_total", "Prompts that this replica accepted or ended, by what became of them.", "state"),
		calls:     counter("tool_calls_total", "Tool calls with side effects that this replica started or refused.", "tool", "outcome"),
		approvals: counter("approvals_total", "Approvals that were asked for or decided on this replica.", "outcome"),
		takeovers: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "paragents", Name: "takeovers_total", Help: "Prompts that this replica took over from a dead one."}),
		fenced: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "paragents", Name: "fenced_writes_total",
			Help: "Writes that were refused because another replica owns the session by now."}),
		commits: counter("store_commits_total", "Batches that this replica gave to the store.", "result"),
		sent:    counter("messages_sent_total", "Messages of sessions, and changes of them, that a platform took from this replica.", "platform"),
		rests:   counter("rests_total", "Waits that a platform told this replica to keep, and the pauses in the minute after each.", "platform"),
		asked:   counter("model_requests_total", "Requests to the model, by how they ended.", "result"),
		tokens:  counter("model_tokens_total", "Tokens as the model's provider counts them.", "direction"),
		turns: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "paragents", Name: "model_seconds", Help: "How long a request to the model took, retries included.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}}),
	}
	m.registry.MustRegister(m.prompts, m.calls, m.approvals, m.takeovers, m.fenced, m.commits, m.sent, m.rests, m.asked, m.tokens, m.turns,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, state := range []string{"accepted", "done", "failed", "cancelled"} { // there before the first, so that an increase of one shows
		m.prompts.WithLabelValues(state)
	}
	for _, outcome := range []string{"asked", "approved", "denied", "expired", "withdrawn"} {
		m.approvals.WithLabelValues(outcome)
	}
	return m
}

// Handler serves the metrics, with the gauges of a store.
func (m *Meter) Handler(s store.Store) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(&gauges{store: s})
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, r}, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4})
}

// Store counts what is committed to a store.
func (m *Meter) Store(s store.Store) store.Store { return meteredStore{s, m} }

type meteredStore struct {
	store.Store
	m *Meter
}

func (s meteredStore) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	res, err := s.Store.Commit(ctx, b)
	s.m.commits.WithLabelValues(result(err)).Inc()
	switch {
	case errors.Is(err, store.ErrFenced):
		s.m.fenced.Inc()
	case err == nil && !res.Repeated:
		s.m.committed(b)
	}
	return res, err
}

func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, store.ErrConflict):
		return "conflict"
	case errors.Is(err, store.ErrFenced):
		return "fenced"
	}
	return "error"
}

// committed counts what a batch made true.
func (m *Meter) committed(b store.Batch) {
	for _, a := range b.Append {
		var e audit.Entry
		if a.Log != state.Audit || json.Unmarshal(a.Value, &e) != nil {
			continue
		}
		outcome, _, _ := strings.Cut(e.Outcome, " ") // "approved session": the scope is for people
		switch e.What {
		case "accepted":
			m.prompts.WithLabelValues("accepted").Inc()
		case "ended":
			m.prompts.WithLabelValues(outcome).Inc()
		case "started", "refused":
			m.calls.WithLabelValues(e.Tool, e.What).Inc()
		case "asked":
			m.approvals.WithLabelValues("asked").Inc()
		case "decided":
			m.approvals.WithLabelValues(outcome).Inc()
		case "taken over":
			m.takeovers.Inc()
		}
	}
	for _, p := range b.Put {
		family, rest, _ := strings.Cut(string(p.Key), "/")
		platform, _, _ := strings.Cut(rest, "/")
		switch family {
		case "sent":
			m.sent.WithLabelValues(platform).Inc()
		case "rest":
			m.rests.WithLabelValues(platform).Inc()
		}
	}
}

// Model counts what is asked of a model.
func (m *Meter) Model(inner llm.Model) llm.Model { return meteredModel{inner, m} }

type meteredModel struct {
	llm.Model
	m *Meter
}

func (x meteredModel) Complete(ctx context.Context, r llm.Request, p llm.Progress) (llm.Reply, error) {
	began := time.Now()
	reply, err := x.Model.Complete(ctx, r, p)
	var fault *llm.Error
	outcome := "ok"
	switch {
	case errors.As(err, &fault):
		outcome = string(fault.Fault)
	case err != nil: // the run was stopped meanwhile
		outcome = "stopped"
	}
	x.m.asked.WithLabelValues(outcome).Inc()
	x.m.turns.Observe(time.Since(began).Seconds())
	x.m.tokens.WithLabelValues("in").Add(float64(reply.Usage.In))
	x.m.tokens.WithLabelValues("out").Add(float64(reply.Usage.Out))
	return reply, err
}

// gauges are read from the store when they are asked for: they are of the whole deployment, and the same on every replica.
type gauges struct{ store store.Store }

// readLimit bounds how long a look at the store may take.
const readLimit = 3 * time.Second

var (
	waiting = []struct {
		index store.Index
		name  string
	}{{state.Ready, "ready"}, {state.Running, "held"}, {state.Pending, "approval"}, {state.Waiters, "conflict"}}
	countDesc  = prometheus.NewDesc("paragents_waiting", "Sessions that are ready or held, approvals that wait, and prompts in conflict that wait; of the whole deployment.", []string{"what"}, nil)
	oldestDesc = prometheus.NewDesc("paragents_waiting_oldest_seconds", "Age of the oldest of them; 0 when there is none.", []string{"what"}, nil)
)

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) { ch <- countDesc; ch <- oldestDesc }

// Collect implements prometheus.Collector. What cannot be read is left out.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readLimit)
	defer cancel()
	for _, w := range waiting {
		page, err := g.store.Scan(ctx, w.index, store.Range{Limit: 1})
		if err != nil {
			ch <- prometheus.NewInvalidMetric(countDesc, err)
			return
		}
		age := 0.0
		if len(page.Entries) > 0 {
			age = max(0, page.Time.Sub(time.UnixMilli(int64(page.Entries[0].Score))).Seconds())
		}
		ch <- prometheus.MustNewConstMetric(countDesc, prometheus.GaugeValue, float64(page.Total), w.name)
		ch <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, age, w.name)
	}
}
