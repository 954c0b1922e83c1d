package command

import (
	"strings"
	"testing"

	"paragents/core/policy/word"
)

type nowhere struct{}

func (nowhere) IsDir(word.Word) bool  { return false }
func (nowhere) IsFile(word.Word) bool { return false }
func (nowhere) IsLink(word.Word) bool { return false }
func (nowhere) Certain() bool         { return true }
func (nowhere) Inside(word.Word) bool { return true }

func mustLoad(t *testing.T) *Table {
	t.Helper()
	table, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestEveryRowIsUnderstood says that each row has flags and letters that mean something.
func TestEveryRowIsUnderstood(t *testing.T) {
	for key, r := range mustLoad(t).rows {
		for f := range r.flags {
			switch f {
			case "subs", "single", "stop", "plain", "shell", "own", "code", "prefix", "wrap", "privileged", "interp", "strict":
			default:
				t.Errorf("%s: flag %q means nothing", key, f)
			}
		}
		if strings.Trim(r.operands, "rwRWum.") != "" {
			t.Errorf("%s: operands %q mean nothing", key, r.operands)
		}
		if r.flags["plain"] {
			for _, o := range r.options {
				if o.risk || strings.IndexByte("wWxc", o.value) >= 0 && o.value != 0 {
					t.Errorf("%s: is said to be plain, and %s is not", key, o.name)
				}
			}
		}
	}
}

// TestRiskyOptionsAreMarked names for each tool the options by which it runs something else, or changes its target.
func TestRiskyOptionsAreMarked(t *testing.T) {
	for _, line := range []string{
		"sort --compress-program=./x a", "sort --compress-prog ./x a", "rg --pre ./x a", "rg --pre=./x a", "man -P x a", "tar -I ./x -xf a", "tar xIf ./x a",
		"tar -xf a --to-command=./x", "git diff --ext-diff", "git grep -O./x a", "git fetch --upload-pack ./x o", "git rebase -x ./x", "go test -exec ./x",
		"go test --exec=./x", "go vet -vettool=./x", "go build -toolexec ./x", "make --eval=x", "make SHELL=./x", "python3 -c x", "python3 -m x", "node -e x",
		"perl -ne x", "perl -pi -e x", "npx x", "curl -x http://a b", "curl -sx http://a b", "wget --use-askpass=./x a", "ssh -oProxyCommand=x h", "split --filter=./x a",
		"rsync -e ./x a b", "jq -L d . a", "date -s x", "yq -i x a", "kubectl get --kubeconfig x p", "npm run x", "gcc -wrapper ./x a.c", "zip -T -TT ./x a b",
		"less -k x a", "fd -x", "terraform init -plugin-dir=x", "journalctl --vacuum-size=1", "awk -f x a", "sed -f x a", "git commit -e", "git add -p",
	} {
		l := mustLoad(t).Look(word.Lits(strings.Fields(line)...), nowhere{})
		if len(l.Part.Risks) == 0 && l.Part.Opaque == "" && len(l.Inner) == 0 {
			t.Errorf("%s: nothing is marked", line)
		}
	}
	for _, line := range []string{"sort -k 1 a", "rg -n x a", "go test -race ./...", "git diff --stat", "tar -tf a", "curl -s http://a", "python3 x.py", "sed -n p a", "date +%s"} {
		if l := mustLoad(t).Look(word.Lits(strings.Fields(line)...), nowhere{}); len(l.Part.Risks) > 0 || l.Part.Opaque != "" {
			t.Errorf("%s: risks %v, opaque %q", line, l.Part.Risks, l.Part.Opaque)
		}
	}
}

func TestHarmlessSed(t *testing.T) {
	for _, script := range []string{"s/a/b/", "s/a/b/g;s|c|d|", "1,5p", "/x/d", "$!d", "2q", "s/a\\/b/c/2", "/a/,/b/p", "y/ab/cd/", "s#;#,#", "=", "1d;$d"} {
		if !harmlessSed(script) {
			t.Errorf("%q is harmless", script)
		}
	}
	for _, script := range []string{"s/a/b/e", "s/a/b/w f", "w f", "r f", "e", "1e id", "s/a/b/;e", "s;x;id;e", "W f", "R f", "a\\\ne", "s/a/b/gw f", "{e}", "/x/e id", "p;w f",
		"s/a/b/\ne", "1!e", "s|a|b|e", "$e", "bx;:x;e"} {
		if harmlessSed(script) {
			t.Errorf("%q is not harmless", script)
		}
	}
}

func TestHarmlessAwk(t *testing.T) {
	for _, program := range []string{"{print $1}", "/x/ {n++} END {print n}", "$1 > 5", "a || b {print}"} {
		if !harmlessAwk(program) {
			t.Errorf("%q is harmless", program)
		}
	}
	for _, program := range []string{`BEGIN{system("id")}`, `{print > "f"}`, `{print | "sh"}`, `{"id" | getline}`, `@load "x"`, `BEGIN{ARGV[1]="x"}`, "{printf \"a\" >> \"f\"}", `{print "};" > "f"}`} {
		if harmlessAwk(program) {
			t.Errorf("%q is not harmless", program)
		}
	}
}
