package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	defer func(c, d string) { buildCommit, buildDate = c, d }(buildCommit, buildDate)
	buildCommit, buildDate = "0123456789abcdef", "2026-11-22T09:00:00Z"
	run := func(args ...string) string {
		var out bytes.Buffer
		cmd := newVersionCommand()
		cmd.SetOut(&out)
		cmd.SetArgs(args)
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if text := run(); !strings.Contains(text, "\ncommit   0123456789abcdef\ndate     2026-11-22T09:00:00Z\n") {
		t.Errorf("%s", text)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(run("--json")), &got); err != nil {
		t.Fatal(err)
	}
	if got["version"] != "dev" || got["commit"] != buildCommit || got["date"] != buildDate || got["os"] == "" ||
		got["arch"] == "" || got["go_version"] == "" {
		t.Errorf("%v", got)
	}
}
