package policy_test

import (
	"os"
	"strings"
	"testing"

	"paragents/core/policy"
)

func TestTable(t *testing.T) {
	rulesets, err := os.Open("testdata/permission-rulesets.json")
	if err != nil {
		t.Fatal(err)
	}
	defer rulesets.Close()
	cases, err := os.Open("testdata/permissions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer cases.Close()
	var out strings.Builder
	passed, failed, err := policy.RunTable(rulesets, cases, &out)
	if err != nil {
		t.Fatal(err)
	}
	if failed > 0 || passed != 255 {
		t.Error(out.String())
	}
}
