package errs

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the table of docs/errors.md")

// TestExplanationsAreAll checks that every code has an explanation, in the order of the numbers.
func TestExplanationsAreAll(t *testing.T) {
	source, err := os.ReadFile("errs.go")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ +Code = (\d+)$`).FindAllStringSubmatch(string(source), -1) {
		if m[1] != "0" {
			want = append(want, m[1])
		}
	}
	if len(want) < 30 {
		t.Fatalf("errs.go has %d codes: the pattern no longer finds them", len(want))
	}
	for _, e := range Explanations() {
		got = append(got, strconv.Itoa(int(e.Code)))
		if e.Meaning == "" || e.Advice == "" || e.Retry == "" {
			t.Errorf("code %d: the explanation is not complete", e.Code)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes of errs.go, and explained ones (-want +got)\n%s", diff)
	}
}

const errorsPage = "../../docs/errors.md"

// TestErrorsPage compares docs/errors.md with Explanations.
func TestErrorsPage(t *testing.T) {
	before, err := os.ReadFile(errorsPage)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("<!-- codes -->\n| code | status | what happened | what to do | retry |\n|---|---|---|---|---|\n")
	for _, e := range Explanations() {
		fmt.Fprintf(&b, "| %d | %d | %s | %s | %s |\n", e.Code, e.Code.Status(), e.Meaning, e.Advice, e.Retry)
	}
	b.WriteString("<!-- end -->")
	table := regexp.MustCompile(`(?s)<!-- codes -->\n.*?<!-- end -->`)
	if !table.Match(before) {
		t.Fatalf("%s has no table of codes", errorsPage)
	}
	page := table.ReplaceAllLiteralString(string(before), b.String())
	if *update {
		if err := os.WriteFile(errorsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, string(before)); diff != "" {
		t.Errorf("%s is outdated; update it with: go test ./proto/errs -run TestErrorsPage -update\n(-want +got)\n%s",
			errorsPage, diff)
	}
}
