package button

import (
	"fmt"
	"strings"
	"testing"

	"paragents/core"
)

// TestB033ButtonsAreShort: whatever a button leads to, the platform is given a short token.
func TestB033ButtonsAreShort(t *testing.T) {
	var bs Set
	tokens := map[string]bool{}
	for i := range 100 {
		b := bs.Add(strings.Repeat("я", 200), "", Press{Command: strings.Repeat("я", 1000), Session: core.SessionID(fmt.Sprint(i))})
		if len(b.Token) > 64 || len(b.Token) < 20 || tokens[b.Token] {
			t.Fatalf("the token is %q", b.Token)
		}
		tokens[b.Token] = true
	}
}
