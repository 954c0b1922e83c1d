package claims_test

import (
	"fmt"
	"slices"
	"testing"

	"paragents/core"
	"paragents/core/claims"
	"paragents/core/preflight"
)

type (
	id    = core.PromptID
	claim = preflight.Claim
)

// book is a book in which a holds src and b holds docs/a.md.
func book() claims.Book {
	var b claims.Book
	b.Claim("a", claims.Holder{Ref: "sa"}, []claim{"src"})
	b.Claim("b", claims.Holder{Ref: "sb"}, []claim{"docs/a.md"})
	return b
}

func TestConflicts(t *testing.T) {
	for _, tt := range []struct {
		name string
		who  id
		want []claim
		fold bool
		with []id
	}{
		{"free", "c", []claim{"README.md"}, false, nil},
		{"below a directory", "c", []claim{"src/main.go"}, false, []id{"a"}},
		{"everything", "c", []claim{"."}, false, []id{"a", "b"}},
		{"own", "a", []claim{"src"}, false, nil},
		{"own and another's", "a", []claim{"src", "docs"}, false, []id{"b"}},
		{"other case", "c", []claim{"SRC/main.go"}, false, nil},
		{"other case, folded", "c", []claim{"SRC/main.go"}, true, []id{"a"}},
		{"git", "c", []claim{"git:index"}, false, nil},
	} {
		b := book()
		if got := claims.Owners(b.Conflicts(tt.who, "", tt.want, tt.fold)); !slices.Equal(got, tt.with) {
			t.Errorf("%s: conflicts with %v, want %v", tt.name, got, tt.with)
		}
	}
}

// Claims on files of different directories never meet; those on what a repository's worktrees share do.
func TestApart(t *testing.T) {
	var b claims.Book
	b.Claim("a", claims.Holder{Apart: "x"}, []claim{"src", "git:index", "git:push:origin/main", "git:stash"})
	for _, tt := range []struct {
		apart string
		want  claim
		meets bool
	}{
		{"x", "src/main.go", true}, {"", "src/main.go", false}, {"y", ".", false}, {"", "git:index", false}, {"x", "git:index", true},
		{"", "git:push:origin/main", true}, {"y", "git:push:origin", true}, {"", "git:push:origin/other", false}, {"y", "git:stash", true},
	} {
		if got := b.Conflicts("c", tt.apart, []claim{tt.want}, false); (len(got) > 0) != tt.meets {
			t.Errorf("%s in %q: %v", tt.want, tt.apart, got)
		}
	}
	b.Claim("c", claims.Holder{}, []claim{"src", "."})
	if broken := b.Broken(false); len(broken) != 0 {
		t.Errorf("broken: %v", broken)
	}
}

func TestAllowCoversExactlyWhatWasShown(t *testing.T) {
	b := book()
	b.Allow("c", claims.Holder{Ref: "sc"}, b.Conflicts("c", "", []claim{"src/main.go"}, false))
	if got := b.Conflicts("c", "", []claim{"src/main.go"}, false); len(got) != 0 {
		t.Errorf("still %v", got)
	}
	if got := b.Conflicts("c", "", []claim{"src/other.go"}, false); len(got) != 1 {
		t.Errorf("another path: %v", got)
	}
	b.Claim("c", claims.Holder{Ref: "sc"}, []claim{"src/main.go"})
	if broken := b.Broken(false); len(broken) != 0 {
		t.Errorf("broken: %v", broken)
	}
	b.Claim("c", claims.Holder{}, []claim{"docs"}) // what nobody allowed
	if broken := b.Broken(false); len(broken) == 0 {
		t.Error("an overlap that nobody allowed is not seen")
	}
	b.Drop("b")
	if broken := b.Broken(false); len(broken) != 0 {
		t.Errorf("after the owner ended: %v", broken)
	}
}

func TestTooManyClaimsAreTheWholeWorkspace(t *testing.T) {
	b := book()
	many := []claim{"git:index"}
	for i := range 500 {
		many = append(many, claim(fmt.Sprint("out/", i)))
	}
	want := b.Fit("c", many)
	if !slices.Equal(want, []claim{".", "git:index"}) {
		t.Fatalf("it claims %v", want)
	}
	if got := claims.Owners(b.Conflicts("c", "", want, false)); !slices.Equal(got, []id{"a", "b"}) {
		t.Errorf("conflicts with %v", got)
	}
	b.Drop("a", "b")
	b.Claim("c", claims.Holder{}, []claim{"x"})
	b.Claim("c", claims.Holder{}, want)
	if got := b.Holders["c"].Claims; !slices.Equal(got, []claim{".", "git:index"}) {
		t.Errorf("it holds %v", got)
	}
	if got := b.Missing("c", []claim{"y", "git:index"}); len(got) != 0 {
		t.Errorf("it misses %v", got)
	}
}

func TestCycle(t *testing.T) {
	b := book()
	b.Wait("a", claims.Holder{Ref: "sa"}, b.Conflicts("a", "", []claim{"docs"}, false))
	if got := b.Cycle("a"); got != nil {
		t.Errorf("one waits: %v", got)
	}
	b.Wait("b", claims.Holder{Ref: "sb"}, b.Conflicts("b", "", []claim{"src/x"}, false))
	if got := b.Cycle("b"); !slices.Equal(got, []id{"a", "b"}) {
		t.Errorf("both wait: %v", got)
	}
	b.Drop("a")
	if got := b.Cycle("b"); got != nil {
		t.Errorf("one has ended: %v", got)
	}
}

// A thousand live claims are looked through in well under a millisecond on an idle core.
func BenchmarkConflicts(b *testing.B) {
	var all claims.Book
	for i := range 1000 {
		all.Claim(id(fmt.Sprint(i)), claims.Holder{}, []claim{claim(fmt.Sprintf("dir%d/file%d.go", i%50, i))})
	}
	for b.Loop() {
		if len(all.Conflicts("x", "", []claim{"other/*.go", "dir1/new.go"}, false)) != 0 {
			b.Fatal("a conflict")
		}
	}
}
