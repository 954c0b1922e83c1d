package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paragents/adapters/telegram/telegramtest"
	"paragents/cmd/paragents/config"
)

// What is accepted, asked and done reaches the sink, which no tool may read, even where it lies in the workspace.
func TestAuditSink(t *testing.T) {
	var file string
	w := begin(t, func(c *config.Config) {
		file = filepath.Join(c.Workspaces[0].Path, "audit.jsonl")
		c.Audit.Sink = config.URL("file:" + file)
	})
	chat := w.tg.Private(w.admin)
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "write x to a.txt"})
	w.tg.Press(w.admin, chat, w.asks(chat).ID, "Approve once")
	w.shows(chat, "wrote")
	w.until("the sink to have it", func() bool {
		text, _ := os.ReadFile(file)
		for _, what := range []string{`"what":"accepted"`, `"what":"asked"`, `"what":"decided"`, `"what":"ended"`} {
			if !strings.Contains(string(text), what) {
				return false
			}
		}
		return true
	})
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "read audit.jsonl"})
	w.shows(chat, "refused")
}
