package metric_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"paragents/cmd/paragents/metric"
	"paragents/core"
	"paragents/core/audit"
	"paragents/core/llm"
	"paragents/core/state"
	"paragents/store"
	"paragents/store/local"
)

// Only what the store took counts, and that once.
func TestCommits(t *testing.T) {
	st, err := local.Open(t.Context(), local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	m := metric.New()
	s := m.Store(st)
	ended := func(id string, expect int64) error {
		var b state.Batch
		b.ID = id
		b.Expect("one", expect)
		b.Put("one", struct{}{}, 0)
		b.Append(state.Audit, audit.Entry{What: "ended", Outcome: "failed"})
		b.Append(state.Audit, audit.Entry{What: "decided", Outcome: "approved session"})
		b.Put(state.SentKey(core.Place{Platform: "chat", Channel: "c"}, "1"), struct{}{}, 0)
		_, err := b.Commit(t.Context(), s)
		return err
	}
	for range 2 { // the answer was lost, and it is asked again
		if err := ended("first", 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := ended("second", 0); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	var fenced state.Batch
	fenced.Fence = &store.Fence{Key: "claim/none", Version: 1, Holder: "somebody"}
	fenced.Append(state.Audit, audit.Entry{What: "ended", Outcome: "failed"})
	if _, err := fenced.Commit(t.Context(), s); !errors.Is(err, store.ErrFenced) {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	m.Handler(st).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`prompts_total{state="failed"} 1`, `approvals_total{outcome="approved"} 1`, `messages_sent_total{platform="chat"} 1`, `fenced_writes_total 1`,
		`store_commits_total{result="conflict"} 1`, `store_commits_total{result="ok"} 2`} {
		if !strings.Contains(w.Body.String(), "paragents_"+want+"\n") {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}

type model struct{ err error }

func (m model) Complete(context.Context, llm.Request, llm.Progress) (llm.Reply, error) {
	return llm.Reply{Usage: core.Usage{In: 3, Out: 2}}, m.err
}

func TestModel(t *testing.T) {
	m := metric.New()
	for _, err := range []error{nil, &llm.Error{Fault: llm.FaultAccount}, context.Canceled} {
		m.Model(model{err}).Complete(t.Context(), llm.Request{}, llm.Progress{}) //nolint:errcheck // it is the one given
	}
	st, err := local.Open(t.Context(), local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	w := httptest.NewRecorder()
	m.Handler(st).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`model_requests_total{result="ok"} 1`, `model_requests_total{result="account"} 1`, `model_requests_total{result="stopped"} 1`,
		`model_tokens_total{direction="in"} 9`, `model_seconds_count 3`} {
		if !strings.Contains(w.Body.String(), "paragents_"+want+"\n") {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}
