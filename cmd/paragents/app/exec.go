package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/scheduler"
)

// Exec is one prompt to run to its end, with nobody to ask.
type Exec struct {
	Text      string
	JSON      bool
	Workspace string
}

// Exec runs it, prints the answer or the events, and returns the exit status: 0 done, 1 failed, 2 wrongly asked for, 3 an approval was needed that nobody could give.
func (s *Setup) Exec(ctx context.Context, x Exec) (int, error) {
	cfg, err := s.Load()
	if err != nil {
		return 0, err
	}
	var names []string
	for _, w := range cfg.Workspaces {
		names = append(names, w.Name)
	}
	switch {
	case x.Workspace == "":
		x.Workspace = names[0]
	case !slices.Contains(names, x.Workspace):
		fmt.Fprintf(s.Stderr, "paragents: there is no workspace %q; there are: %s\n", x.Workspace, strings.Join(names, ", "))
		return 2, nil
	}
	log := s.Logger()
	st, path, err := s.Store(ctx, cfg, log)
	if err != nil {
		return 0, err
	}
	defer st.Close()
	place := core.Place{Platform: "exec", Channel: core.NewID[string](time.Now())}
	out := &sink{json: x.JSON, out: os.Stdout, place: place, done: make(chan struct{})}
	courier := delivery.New(delivery.Config{Store: st, Render: out.render, Adapter: func(string) (core.Adapter, bool) { return nowhere{}, true }, Logger: log})
	a, err := s.New(cfg, st, path, log, Options{Courier: courier, Progress: out.progress, Reaches: func(p core.Place) bool { return p == place }})
	if err != nil {
		return 0, err
	}
	defer a.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a.premises.look(ctx, "")
	if why, err := a.frozen(ctx, x.Workspace); err != nil || why != "" {
		if why != "" {
			fmt.Fprintln(s.Stderr, "paragents:", why)
		}
		return 1, err
	}
	ran := make(chan error, 1)
	go func() { ran <- a.Scheduler.Run(ctx) }()
	accepted, err := a.Scheduler.Accept(ctx, []scheduler.Submission{{New: &scheduler.NewSession{Workspace: x.Workspace}, Author: Me(), Place: place, Text: x.Text,
		Unattended: true}}, nil)
	if err == nil {
		err = accepted[0].Err
	}
	if err != nil {
		stop()
		<-ran
		return 0, err
	}
	if !s.ended(ctx, a, x.Workspace, out.done) {
		if _, err := a.Scheduler.Cancel(context.WithoutCancel(ctx), accepted[0].Prompt.ID, Me()); err != nil && !errors.Is(err, core.ErrRefused) {
			log.Warn("cannot cancel the prompt", "error", err)
		}
	}
	s.workedIn(context.WithoutCancel(ctx), a, accepted[0].Session.ID)
	stop()
	if err := <-ran; err != nil {
		return 0, err
	}
	return out.status(), nil
}

// frozen says why nothing runs in a workspace for whoever sits here; "" when it does.
func (a *App) frozen(ctx context.Context, workspace string) (string, error) {
	f, err := a.Scheduler.Frozen(ctx)
	if err != nil {
		return "", err
	}
	scope, ice, ok := f.Over(workspace, Me())
	if !ok {
		return "", nil
	}
	return fmt.Sprintf("%s is frozen: %s; nothing runs before `paragents thaw %s`", scope, ice.Reason, string(scope)), nil
}

// ended waits for a prompt's end, and says once if it waits for a thaw. It returns false when the context ended before.
func (s *Setup) ended(ctx context.Context, a *App, workspace string, done <-chan struct{}) bool {
	look := time.NewTicker(2 * time.Second)
	defer look.Stop()
	for told := false; ; {
		select {
		case <-done:
			return true
		case <-ctx.Done():
			return false
		case <-look.C:
			if why, err := a.frozen(ctx, workspace); err == nil && why != "" && !told {
				fmt.Fprintln(s.Stderr, "paragents:", why)
				told = true
			}
		}
	}
}

// workedIn says where an isolated session has worked: nobody is shown its work.
func (s *Setup) workedIn(ctx context.Context, a *App, id core.SessionID) {
	views, err := a.Scheduler.Views(ctx, []core.SessionID{id})
	if err != nil || len(views) == 0 || views[0].Session.Worktree == nil || !views[0].Session.Worktree.Made {
		return
	}
	sess := views[0].Session
	if dir, ok := a.premises.dirs()[sess.Workspace]; ok {
		fmt.Fprintf(s.Stderr, "paragents: it worked in %s, on branch %s; /merge %s in a chat merges that\n", sess.Dir(dir), core.BranchOf(sess.Ref), sess.Ref)
	}
}

// sink prints what one prompt has to say.
type sink struct {
	json  bool
	out   io.Writer
	place core.Place
	done  chan struct{}

	mu      sync.Mutex
	refused bool
	end     core.Event
}

func (s *sink) progress(l core.Letter) {
	if l.Place == s.place {
		s.print(l.Event)
	}
}

// render prints a letter; there is nothing to send.
func (s *sink) render(_ context.Context, l core.Letter) (delivery.Rendered, error) {
	s.print(l.Event)
	return delivery.Rendered{}, nil
}

func (s *sink) print(e core.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end.Type != "" {
		return
	}
	if e.Type == core.EventApproval {
		s.refused = true
	}
	switch {
	case s.json:
		raw, err := json.Marshal(e)
		if err != nil {
			raw = fmt.Appendf(nil, `{"type":"notice","error":%q}`, err)
		}
		fmt.Fprintf(s.out, "%s\n", raw)
	case e.Type == core.EventAnswer:
		fmt.Fprintln(s.out, e.Text)
	case e.Type == core.EventApproval:
		fmt.Fprintf(os.Stderr, "paragents: refused, because nobody can be asked: %s\n  %s\n", e.Rule, e.Show)
	case e.Type == core.EventQuestion, e.Type == core.EventEnd && e.Error != "":
		fmt.Fprintln(os.Stderr, "paragents:", e.Text+e.Error)
	}
	if e.Type == core.EventEnd {
		s.end = e
		close(s.done)
	}
}

func (s *sink) status() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.end.State != string(core.Done):
		return 1
	case s.refused:
		return 3
	}
	return 0
}

// nowhere is the adapter of a place where nothing can be sent.
type nowhere struct{}

func (nowhere) Capabilities() core.Capabilities { return core.Capabilities{Platform: "exec"} }

func (nowhere) Receive(ctx context.Context, _ []byte, _ func(context.Context, []core.Inbound, []byte) error) error {
	<-ctx.Done()
	return nil
}

func (nowhere) Send(context.Context, core.Message) (string, error) { return "", nil }

func (nowhere) Edit(context.Context, string, core.Message) error { return nil }

func (nowhere) Fetch(context.Context, core.Place, core.Attachment) (io.ReadCloser, error) {
	return nil, core.ErrNotFound
}
