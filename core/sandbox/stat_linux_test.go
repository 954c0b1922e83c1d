package sandbox

import "testing"

func TestParseStat(t *testing.T) {
	for raw, want := range map[string]process{
		"7 (bash) S 1 2 3 34816 7 4194304": {7, 1, 2, 3},
		"7 (a) R 9 9) T 1 2 3 0":           {7, 1, 2, 3}, // a name may look like the rest
		"7 (x\n) y) D 1 2 3":               {7, 1, 2, 3},
		"7 (bash) Z 1 2 3 0":               {},
		"7 (bash) S 1 2":                   {},
		"7 (bash) S a b c":                 {},
		"7 bash S 1 2 3":                   {},
		"":                                 {},
		")":                                {},
	} {
		if got, ok := parseStat(7, []byte(raw)); got != want || ok != (want != process{}) {
			t.Errorf("parseStat(%q) = %v, %v, want %v", raw, got, ok, want)
		}
	}
}

// FuzzParseStat: whatever a process calls itself, its parent, group and session are read from behind the name.
func FuzzParseStat(f *testing.F) {
	f.Add("bash")
	f.Add(") S 9 9 9 (")
	f.Fuzz(func(t *testing.T, name string) {
		if got, ok := parseStat(7, []byte("7 ("+name+") S 1 2 3 0 -1")); !ok || got != (process{7, 1, 2, 3}) {
			t.Errorf("%q: %v, %v", name, got, ok)
		}
	})
}
