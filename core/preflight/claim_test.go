package preflight_test

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"paragents/core"
	"paragents/core/preflight"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"./src//main.go", "src/main.go"},
		{"src/", "src"},
		{"src/**", "src/**"},
		{"**", "."},
		{"a/../b", "b"},
		{"/srv/ws", "."},
		{"/srv/ws/a/b", "a/b"},
		{"/srv/ws/../ws/a", "a"},
		{"git:index", "git:index"},
		{"git:push:origin/main", "git:push:origin/main"},
	} {
		if got, err := preflight.Clean("/srv/ws/", tt.path); err != nil || string(got) != tt.want {
			t.Errorf("Clean(%q) = %q, %v; want %q", tt.path, got, err, tt.want)
		}
	}
	for _, p := range []string{"..", "../a", "a/../../b", "/srv/wsx/a", "/", "*/../../a", "**/../a"} {
		if got, err := preflight.Clean("/srv/ws", p); !errors.Is(err, preflight.ErrOutside) {
			t.Errorf("Clean(%q) = %q, %v; want it outside", p, got, err)
		}
	}
	for _, p := range []string{"", "a\x00b", "a\nb", strings.Repeat("a", 5000)} {
		if _, err := preflight.Clean("/srv/ws", p); err == nil || errors.Is(err, preflight.ErrOutside) {
			t.Errorf("Clean(%.20q): %v", p, err)
		}
	}
}

func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		a, b preflight.Claim
		want bool
	}{
		{"a.go", "a.go", true},
		{"a.go", "b.go", false},
		{"src", "src/a.go", true},
		{"src", "srcs/a.go", false},
		{"src/**", "src", true},
		{".", "a/b", true},
		{".", "**/*.go", true},
		{"v1.2", "v1.2/a", true},
		{"*.go", "a.go", true},
		{"*.go", "a.md", false},
		{"*.go", "src/a.go", false},
		{"*.go", "src", false},
		{"src/*.go", "src", true},
		{"src/*", "src/a/b.go", true},
		{"*.d", "x.d/y", true},
		{"**/*.go", "README.md", false},
		{"**/*.go", "src", true},
		{"**/*.go", "src/**", true},
		{"**/*.go", "odd.d/**", true},
		{"src/**/*.go", "src/a.txt", false},
		{"src/**/*.go", "src/**/*.md", false},
		{"src/**/a*", "src/**/*b", true},
		{"*/x.go", "README.md", false},
		{"a?c", "abc", true},
		{"a[b-d]", "ac", true},
		{"a[!b]", "ab", false},
		{"a[b-d].x", "a[d-f].x", true},
		{"app/[id]/page.tsx", "app/[id]/page.tsx", true},
		{"app/[id]", "app/[id]/page.tsx", true},
		{"src/{a,b}.go", "src/b.go", true},
		{"src/{a/x,b}.go", "src/a/x.go", true},
		{"src/{a/x,b}.go", "doc/a", false},
		{`a\*b`, "a*b", true},
		{`a\*b`, "axb", false},
		{"*a*b*c*", "*c*b*a*", true},
		{"a*", "*b", true},
		{"a*", "b*", false},
		{"A.go", "a.go", false},
		{"git:index", "git:index", true},
		{"git:index", ".", false},
		{"git:index", "*", false},
		{"git:index", "git:push:origin/main", false},
		{"git:push:origin/main", "git:push:origin/main", true},
		{"git:push:origin/main", "git:push:origin/dev", false},
		{"git:push:origin/main", "git:push:fork/main", false},
		{"git:push:origin", "git:push:origin/feature/x", true},
		{"git:push:*", "git:push:origin/v1.2", true},
	} {
		if got := preflight.Overlap(tt.a, tt.b, false); got != tt.want {
			t.Errorf("Overlap(%q, %q) = %v", tt.a, tt.b, got)
		}
		if got := preflight.Overlap(tt.b, tt.a, false); got != tt.want {
			t.Errorf("Overlap(%q, %q) = %v", tt.b, tt.a, got)
		}
	}
	if !preflight.Overlap("SRC/Ä.go", "src/ä.go", true) || !preflight.Overlap("SRC/*.GO", "src/a.go", true) {
		t.Error("names that differ in case overlap where the file system folds it")
	}
}

// claims draws claims over a universe small enough to be tried out.
var claims = rapid.Custom(func(t *rapid.T) preflight.Claim {
	elems := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "a.x", "b.x", "*", "**", "a*", "*b", "?", "[ab]", "*.x", "{a,b}"}), 1, 3).Draw(t, "elements")
	return preflight.Claim(path.Clean(strings.Join(elems, "/")))
})

func TestOverlapIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := claims.Draw(t, "a"), claims.Draw(t, "b")
		if x, y := preflight.Overlap(a, b, false), preflight.Overlap(b, a, false); x != y {
			t.Fatalf("Overlap(%q, %q) = %v, the other way %v", a, b, x, y)
		}
		if !preflight.Overlap(a, a, false) {
			t.Fatalf("%q does not overlap with itself", a)
		}
	})
}

func TestDirectoryCoversWhatIsBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir := rapid.StringMatching(`[a-c.]{0,2}[a-c](/[a-c]{1,2}(\.x)?){0,3}`).Draw(t, "dir")
		below := rapid.StringMatching(`[a-c]{1,2}(/[a-c*]{1,2}){0,2}(\.x)?`).Draw(t, "below")
		for _, d := range []string{dir, dir + "/**"} {
			if !preflight.Overlap(preflight.Claim(d), preflight.Claim(dir+"/"+below), false) {
				t.Fatalf("%q does not cover %q", d, dir+"/"+below)
			}
		}
	})
}

// Whatever file two claims both match, they overlap; and plain globs without directories overlap only if there is one.
func TestOverlapAgainstAllFiles(t *testing.T) {
	var files []string
	names := []string{"a", "b", "ab", "aab", "abb", "c", "a.x", "b.x", "ab.x", "c.x", "x.c"}
	for _, x := range names {
		files = append(files, x)
		for _, y := range names {
			files = append(files, x+"/"+y)
			for _, z := range []string{"a", "b", "ab", "a.x", "c.x"} {
				files = append(files, x+"/"+y+"/"+z)
			}
		}
	}
	matches := func(c preflight.Claim, file string) bool {
		ok, err := doublestar.Match(string(c), file)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	both := func(a, b preflight.Claim) string {
		for _, f := range files {
			if matches(a, f) && matches(b, f) {
				return f
			}
		}
		return ""
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := claims.Draw(t, "a"), claims.Draw(t, "b")
		if f := both(a, b); f != "" && !preflight.Overlap(a, b, false) {
			t.Fatalf("%q and %q both match %s", a, b, f)
		}
	})
	flat := rapid.StringMatching(`[ab*?]{0,3}\.[cx]`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := preflight.Claim(flat.Draw(t, "a")), preflight.Claim(flat.Draw(t, "b"))
		found := false
		letters := []string{"", "a", "b"}
		for _, ext := range []string{".c", ".x"} {
			for n := range 3 * 3 * 3 * 3 * 3 * 3 {
				var name string
				for range 6 {
					name, n = name+letters[n%3], n/3
				}
				found = found || matches(a, name+ext) && matches(b, name+ext)
			}
		}
		if got := preflight.Overlap(a, b, false); got != found && string(a) != string(b) {
			t.Fatalf("Overlap(%q, %q) = %v, but a common name is %v", a, b, got, found)
		}
	})
}

func TestConflictsAreTheOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.OneOf(claims, rapid.SampledFrom([]preflight.Claim{".", "src", "A", "git:index", "git:push:o", "git:push:o/a", "git:push:*"}))
		mine := rapid.SliceOfN(drawn, 0, 4).Draw(t, "mine")
		others := map[core.PromptID][]preflight.Claim{"1": rapid.SliceOfN(drawn, 0, 4).Draw(t, "first"), "2": rapid.SliceOfN(drawn, 0, 4).Draw(t, "second")}
		fold := rapid.Bool().Draw(t, "fold")
		want := map[preflight.Conflict]bool{}
		for owner, list := range others {
			for _, theirs := range list {
				for _, m := range mine {
					if preflight.Overlap(m, theirs, fold) {
						want[preflight.Conflict{Mine: m, Theirs: theirs, Owner: owner}] = true
					}
				}
			}
		}
		got := preflight.NewIndex(mine, fold).Conflicts(maps.All(others))
		for _, c := range got {
			if !want[c] {
				t.Fatalf("%+v is no overlap", c)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d conflicts of %d: %+v", len(got), len(want), got)
		}
		if !slices.IsSortedFunc(got, func(a, b preflight.Conflict) int { return strings.Compare(string(a.Owner), string(b.Owner)) }) {
			t.Fatalf("not sorted: %+v", got)
		}
	})
}

func TestCycles(t *testing.T) {
	type ids = []core.PromptID
	for _, tt := range []struct {
		waits map[core.PromptID][]core.PromptID
		want  [][]core.PromptID
	}{
		{nil, nil},
		{map[core.PromptID][]core.PromptID{"a": {"b"}, "b": {"c"}}, nil},
		{map[core.PromptID][]core.PromptID{"a": {"b"}, "b": {"a"}}, []ids{{"a", "b"}}},
		{map[core.PromptID][]core.PromptID{"a": {"a"}}, []ids{{"a"}}},
		{map[core.PromptID][]core.PromptID{"d": {"a"}, "a": {"b"}, "b": {"c", "x"}, "c": {"a"}, "x": {"y"}, "y": {"x"}}, []ids{{"a", "b", "c"}, {"x", "y"}}},
	} {
		for range 8 { // in whatever order the map is walked
			if got := preflight.Cycles(tt.waits); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Cycles(%v) = %v, want %v", tt.waits, got, tt.want)
			}
		}
	}
}

// live are the claims of 250 prompts, four each: files, a directory, now and then a glob.
func live() map[core.PromptID][]preflight.Claim {
	out := map[core.PromptID][]preflight.Claim{}
	for i := range 250 {
		last := preflight.Claim(fmt.Sprintf("build/%d", i))
		if i%5 == 0 {
			last = preflight.Claim(fmt.Sprintf("pkg/p%d/**/*_test.go", i))
		}
		out[core.PromptID(fmt.Sprint(i))] = []preflight.Claim{
			preflight.Claim(fmt.Sprintf("pkg/p%d/main.go", i)), preflight.Claim(fmt.Sprintf("docs/p%d", i)), preflight.Claim(fmt.Sprintf("git:push:origin/p%d", i)), last,
		}
	}
	return out
}

var wanted = []preflight.Claim{"pkg/p7/main.go", "pkg/new/a.go", "docs/p9/index.md", "cmd/*.go", "build/x/**", "git:index"}

func TestConflictsAllocateLittle(t *testing.T) {
	others, x := live(), preflight.NewIndex(wanted, false)
	if got := x.Conflicts(maps.All(others)); len(got) != 2 {
		t.Fatalf("conflicts: %+v", got)
	}
	// A few for what is found, none a claim.
	if n := testing.AllocsPerRun(20, func() { x.Conflicts(maps.All(others)) }); n > 50 {
		t.Errorf("%v allocations for 1,000 claims", n)
	}
}

func BenchmarkConflicts1000(b *testing.B) {
	for _, fold := range []bool{false, true} {
		b.Run(fmt.Sprintf("fold=%v", fold), func(b *testing.B) {
			others := live()
			b.ReportAllocs()
			for b.Loop() {
				if n := len(preflight.NewIndex(wanted, fold).Conflicts(maps.All(others))); n != 2 {
					b.Fatalf("%d conflicts", n)
				}
			}
		})
	}
}
