package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInspectSmallFiles checks that the text files of a data folder are printed, and that empty ones
// are explained. The secret of the cluster must not be printed.
func TestInspectSmallFiles(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want, fault string }{
		"IDENTITY":              {`{"format":3}` + "\n", `{"format":3}` + "\n", ""},
		"PEERS":                 {`{"version":1}`, `{"version":1}`, ""},
		"STORAGE":               {"{}\n", "{}\n", ""},
		"GIVENUP":               {"{}\n", "{}\n", ""},
		"HOTSINCE":              {"cordwood hot since 1\n", "cordwood hot since 1\n", ""},
		"LOGFROM":               {"cordwood log from 1\n", "cordwood log from 1\n", ""},
		"MARKS":                 {"cordwood marks 1\n", "cordwood marks 1\n", ""},
		"INCARNATION":           {"incarnation 1\n", "incarnation 1\n", ""},
		"FLUSHING":              {"table 7\n", "table 7\n", ""},
		"CRASH.last":            {"fatal error: x\n", "fatal error: x\n", ""},
		"cordwood-backups.json": {"{}", "{}", ""},
		"CLOCK":                 {"", "the recorded time of the clock is 2026-11-23T04:05:06Z: ", ""},
		"LOCK":                  {"", "a running server holds a lock", ""},
		"cluster-secret":        {"0123456789\n", "", "the secret of the cluster, which is not printed"},
		"notes.txt":             {"mine\n", "", "cordwood does not write such a file"},
	} {
		path := filepath.Join(dir, name)
		at := time.Date(2026, 11, 23, 4, 5, 6, 0, time.UTC)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		out, _, err := execute(t, "", "inspect", path)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if !strings.HasPrefix(out, c.want) || (c.fault == "") != (err == nil) || !strings.Contains(fault, c.fault) ||
			strings.Contains(out+fault, "0123") {
			t.Errorf("%s: %q, %v, want %q, %q", name, out, err, c.want, c.fault)
		}
	}
}
