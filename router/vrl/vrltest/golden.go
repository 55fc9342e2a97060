package vrltest

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Lines returns the texts in a file of Go strings, one per line. Lines that start with # are comments.
func Lines(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		text, err := strconv.Unquote(line)
		if err != nil {
			t.Fatalf("%s: %s: %v", file, line, err)
		}
		texts = append(texts, text)
	}
	return texts
}

// Golden compares a text line by line with a file of expected text. With the flag -update, it writes the file
// instead.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(content), "\n")
	if len(gotLines) != len(wantLines) {
		t.Errorf("%s has %d lines, there are %d now", file, len(wantLines), len(gotLines))
	}
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Fatalf("%s:%d\n got %s\nwant %s", file, i+1, gotLines[i], wantLines[i])
		}
	}
}
