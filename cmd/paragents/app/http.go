package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/state"
)

// hooked is an adapter that its platform can call.
type hooked interface {
	Hook() http.Handler
}

// Listen serves health and the platforms' calls until the context ends. /healthz: the process lives. /readyz: it has its lease and the store answers; otherwise one line
// for each thing that is wrong. If nothing is, it adds who has which duty, and warnings about what concerns all replicas. /metrics: what Prometheus wants to know.
func (a *App) Listen(ctx context.Context) error {
	if a.Config.Listen == "" {
		<-ctx.Done()
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		problems := a.problems(r.Context())
		if len(problems) > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		for _, p := range problems {
			fmt.Fprintln(w, p)
		}
		if len(problems) > 0 {
			return
		}
		fmt.Fprintln(w, "ok")
		for _, line := range a.notes(r.Context()) {
			fmt.Fprintln(w, line)
		}
	})
	mux.Handle("GET /metrics", a.meter.Handler(a.Store))
	for _, ad := range a.Adapters {
		if h, ok := ad.(hooked); ok {
			mux.Handle("POST /"+ad.Capabilities().Platform, h.Hook())
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.Config.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; set listen to another address, or to \"\" for none", a.Config.Listen, err)
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10}
	stop := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		srv.Shutdown(end) //nolint:errcheck // what does not end in time is cut off with the process
	})
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// notes are who has which duty, and what somebody should see to though this replica can work.
func (a *App) notes(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	list, err := a.Scheduler.Replicas(ctx)
	if err != nil {
		return nil // the store is a problem already
	}
	var out []string
	for _, m := range list {
		for _, duty := range m.Duties {
			out = append(out, fmt.Sprintf("%s: replica %s on %s", duty, m.ID, m.Host))
		}
	}
	slices.Sort(out)
	for _, ad := range a.Adapters {
		duty := "receive/" + ad.Capabilities().Platform + "/"
		limited, ok := ad.(core.Limited)
		if !ok {
			continue
		}
		if _, total := limited.Sockets(); total > 0 && !slices.ContainsFunc(out, func(line string) bool { return strings.HasPrefix(line, duty) }) {
			out = append(out, "warning: no replica receives from "+ad.Capabilities().Platform+"; one takes it over when the lease of the last one has ended")
		}
	}
	warn := a.Scheduler.Odd()
	if w, ok := a.Store.(interface {
		Warnings(context.Context) []string
	}); ok {
		warn = append(warn, w.Warnings(ctx)...)
	}
	for _, w := range warn {
		out = append(out, "warning: "+w)
	}
	return out
}

// checkLimit is how long the store, and then the platforms, may take to prove that they work: whoever probes waits a few seconds.
const checkLimit = 1500 * time.Millisecond

// problems are what is wrong now, in sentences.
func (a *App) problems(ctx context.Context) []string {
	var out []string
	if a.Scheduler.ID() == "" {
		out = append(out, "the replica has no lease yet")
	}
	if err := a.storeWorks(ctx); err != nil {
		out = append(out, "store: "+err.Error())
	}
	out = append(out, a.premises.problems()...)
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	for _, ad := range a.Adapters {
		if c, ok := ad.(core.Checker); ok {
			if err := c.Check(ctx); err != nil {
				out = append(out, ad.Capabilities().Platform+": "+err.Error())
			}
		}
	}
	return out
}

// storeWorks is nil when the store can be written.
func (a *App) storeWorks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	if h, ok := a.Store.(interface{ Health(context.Context) error }); ok {
		return h.Health(ctx)
	}
	_, err := a.Store.Get(ctx, state.AccessKey)
	return err
}
