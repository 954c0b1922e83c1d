package policy_test

import (
	"os"
	"strings"
	"testing"

	"paragents/core/policy"
)

func TestTable(t *testing.T) {
	for _, c := range []struct {
		file string
		want int
	}{
		{"testdata/permissions.jsonl", 255}, // the table of the specification
		{"testdata/own.jsonl", 0},           // what its text says and it does not hold
	} {
		rulesets, err := os.Open("testdata/permission-rulesets.json")
		if err != nil {
			t.Fatal(err)
		}
		defer rulesets.Close()
		cases, err := os.Open(c.file)
		if err != nil {
			t.Fatal(err)
		}
		defer cases.Close()
		var out strings.Builder
		passed, failed, err := policy.RunTable(rulesets, cases, &out)
		if err != nil {
			t.Fatal(err)
		}
		if failed > 0 || passed < c.want {
			t.Errorf("%s:\n%s", c.file, out.String())
		}
	}
}
