package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// checkRule stands for the real parser of rules, which the caller hands in.
func checkRule(rule string) error {
	if strings.Count(rule, "(") != strings.Count(rule, ")") {
		return errors.New("a bracket is not closed")
	}
	return nil
}

// headerEnv reads the lines "# env NAME=value" that a test file begins with.
func headerEnv(data []byte) []string {
	var env []string
	for line := range strings.Lines(string(data)) {
		if pair, ok := strings.CutPrefix(line, "# env "); ok {
			env = append(env, strings.TrimSpace(pair))
		}
	}
	return env
}

// TestBroken loads each file of testdata/broken, and compares all that is said with the golden file beside it. B072: names are refused.
func TestBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	dir, err := filepath.Abs("testdata/broken")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, warnings, err := Load(Options{Path: filepath.Base(file), Dir: dir, Environ: headerEnv(data), CheckRule: checkRule})
			if err == nil || c != nil {
				t.Fatal("broken configuration was taken")
			}
			got := err.Error() + "\n"
			for _, w := range warnings {
				got += "warning: " + w.String() + "\n"
			}
			got = strings.ReplaceAll(got, dir, "DIR")
			if strings.Contains(got, "hunter2") {
				t.Errorf("a secret is shown:\n%s", got)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
