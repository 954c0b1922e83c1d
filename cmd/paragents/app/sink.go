package app

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"

	"paragents/cmd/paragents/config"
	"paragents/core/audit"
)

// sinkFile is the file that audit entries go to, absolute; "" if they go elsewhere or nowhere.
func sinkFile(cfg *config.Config) string {
	path, ok := strings.CutPrefix(cfg.Audit.Sink.Reveal(), "file:")
	if !ok {
		return ""
	}
	if abs, err := filepath.Abs(strings.TrimPrefix(path, "//")); err == nil {
		return abs
	}
	return path
}

// feed hands audit entries to the configured sink, on one replica at a time.
func (a *App) feed(ctx context.Context) {
	var to audit.Sink
	switch file := sinkFile(a.Config); {
	case file != "":
		to = audit.FileSink(file)
	case a.Config.Audit.Sink != "":
		to = audit.HTTPSink(http.DefaultClient, a.Config.Audit.Sink.Reveal(), a.Config.Audit.Token.Reveal())
	default:
		return
	}
	a.Scheduler.Do(ctx, []string{"audit-sink"}, func(ctx context.Context) error { audit.Feed(ctx, a.Store, to, a.Log); return nil })
}
