package main

import (
	"bytes"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli"
)

// TestColorFlag checks that every command that prints states has the flag --color, and refuses invalid
// values.
func TestColorFlag(t *testing.T) {
	for _, args := range []string{"cluster status", "cluster operations", "node list", "shard list", "tail t"} {
		var stderr bytes.Buffer
		if status := run(append(strings.Fields(args), "--color", "sometimes"), &stderr); status != cli.ExitUsage ||
			!strings.Contains(stderr.String(), "--color sometimes: use auto, always or never") {
			t.Errorf("%s: status %d, %s", args, status, stderr.String())
		}
	}
}
