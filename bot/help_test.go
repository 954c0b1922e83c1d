package bot

import (
	"strings"
	"testing"

	"paragents/bot/grammar"
)

// TestGrammarIsServed: what can be written is carried out, and menus hold what they can show.
func TestGrammarIsServed(t *testing.T) {
	handlers := (&Desk{}).commands()
	for _, g := range grammar.All() {
		if _, ok := handlers[g.Name]; !ok {
			t.Errorf("%s is in the grammar, and nothing carries it out", g.Name)
		}
		delete(handlers, g.Name)
	}
	for name := range handlers {
		t.Errorf("%s can be carried out, and not written", name)
	}
	for _, m := range append(Menu(false), Menu(true)...) {
		if len(m[0]) > 32 || strings.Trim(m[0], "abcdefghijklmnopqrstuvwxyz") != "" || len(m[1]) > 100 {
			t.Errorf("a menu cannot show %v", m)
		}
	}
}
