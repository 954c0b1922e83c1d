package killtest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"paragents/store"
	"paragents/store/redis/redistest"
)

// page holds every key of a Redis against docs/store.md: its family stands there, and it expires if and as the page says.
func (w *world) page(server *redistest.Server) {
	t := w.t
	t.Helper()
	raw, err := os.ReadFile("../../../docs/store.md")
	if err != nil {
		t.Fatal(err)
	}
	expiry := map[string]time.Duration{} // by family; 0: the store never removes it by itself
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)[^|]*\\|[^|]*\\|[^|]*\\|([^|]*)\\|$").FindAllStringSubmatch(string(raw), -1) {
		expiry[row[1]] = span(strings.TrimSpace(row[2]))
	}
	keys, ok := server.Do(t, "keys", "*").([]any)
	if !ok || len(keys) == 0 {
		t.Fatal("there are no keys")
	}
	seen := map[string]int{}
	for _, k := range keys {
		name := strings.TrimPrefix(fmt.Sprint(k), "{paragents}:")
		kind, rest, _ := strings.Cut(name, ":")
		family, _, _ := strings.Cut(rest, "/")
		left, isNumber := server.Do(t, "pttl", k).(int64)
		if !isNumber {
			t.Fatalf("no time to live for %s", name)
		}
		want, listed := expiry[family], true
		switch kind {
		case "counter":
			family = ""
		case "batch":
			family, want = "", store.BatchKept
		case "doc":
			_, listed = expiry[family]
		case "index", "log":
			_, listed = expiry[family]
			want = 0
		default:
			listed = false
		}
		seen[kind+" "+family]++
		switch {
		case !listed:
			t.Errorf("docs/store.md does not list %s", name)
		case want == 0 && left != -1:
			t.Errorf("%s expires in %s; docs/store.md says it does not", name, time.Duration(left)*time.Millisecond)
		case want > 0 && (left < 0 || time.Duration(left)*time.Millisecond > want) && left != -2: // -2: it has gone meanwhile
			t.Errorf("%s expires in %s; docs/store.md says %s", name, time.Duration(left)*time.Millisecond, want)
		}
	}
	for _, family := range []string{"doc session", "doc prompt", "doc approval", "doc event", "doc button", "doc sent", "index belongs", "log transcript", "log audit"} {
		if seen[family] == 0 {
			t.Errorf("there is no %s: nothing was looked at", family)
		}
	}
	t.Logf("%d keys of %d families", len(keys), len(seen))
}

// span reads a time of the page; words are 0.
func span(cell string) time.Duration {
	if cell == "the lease" {
		return lease
	}
	n, unit, _ := strings.Cut(cell, " ")
	units := map[string]time.Duration{"day": 24 * time.Hour, "days": 24 * time.Hour, "hour": time.Hour, "hours": time.Hour}
	number, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return time.Duration(number) * units[unit]
}
