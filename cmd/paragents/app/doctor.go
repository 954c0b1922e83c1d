package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/llm"
	"paragents/core/state"
)

// Doctor checks everything that Paragents needs, and prints a line for each thing; false: something is wrong.
func (s *Setup) Doctor(ctx context.Context, out io.Writer) bool {
	fine := true
	say := func(what string, err error, detail string) {
		switch {
		case err != nil:
			fine = false
			fmt.Fprintf(out, "✗ %s: %v\n", what, err)
		default:
			fmt.Fprintf(out, "✓ %s%s\n", what, detail)
		}
	}
	cfg, err := s.Load()
	say("configuration", err, "")
	if err != nil {
		return false
	}
	for _, tool := range []string{"bash", "git"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			err = fmt.Errorf("not found on PATH; install %s", tool)
		}
		say(tool, err, " at "+path)
	}
	for _, w := range cfg.Workspaces {
		_, err := os.ReadDir(w.Path)
		say("workspace "+w.Name, err, " at "+w.Path)
	}
	try, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	st, _, err := s.Store(try, cfg, s.Logger())
	if err == nil {
		_, err = st.Get(try, state.AccessKey)
		defer st.Close()
	}
	say("store", err, "")
	model, isDemo, err := newModel(cfg, s.Logger())
	switch {
	case err != nil:
		say("model", err, "")
	case isDemo:
		say("model", nil, ": the built-in demo model; set llm.base_url, llm.model and llm.api_key for a real one")
	default:
		_, err = model.Complete(try, llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "Answer with the word ok."}}}, llm.Progress{})
		say("model "+cfg.LLM.Model, err, "")
	}
	adapters, err := Platforms(cfg, s.Logger())
	say("platforms", err, fmt.Sprintf(": %d configured", len(adapters)))
	for _, ad := range adapters {
		switch c := ad.(type) {
		case core.Prober:
			found, err := c.Probe(try)
			say(ad.Capabilities().Platform, err, ": "+strings.Join(found, "; "))
		case core.Checker:
			say(ad.Capabilities().Platform, c.Check(try), "")
		}
		if n, ok := ad.(core.Noter); ok {
			for _, note := range n.Notes() {
				fmt.Fprintf(out, "! %s: %s\n", ad.Capabilities().Platform, note)
			}
		}
	}
	return fine
}
