package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli"
	"cordwood/node/secret"
)

// TestNewSecret checks that a secret is created once and never removed.
func TestNewSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := ""
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"new-secret", file}, 0, ""},
		{[]string{"new-secret", file}, cli.ExitFailed, "exists"},
		{[]string{"new-secret", file, "--keep"}, 0, ""},
		{[]string{"new-secret", empty, "--keep"}, cli.ExitFailed, "it is empty"},
		{[]string{"new-secret", "/no/such/folder/secret"}, cli.ExitFailed, "no such file or directory"},
	} {
		var stderr bytes.Buffer
		if status := run(c.args, &stderr); status != c.status || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: status %d, %s", c.args, status, stderr.String())
		}
		if _, err := secret.Read(file); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if before != "" && before != string(text) {
			t.Fatal("the secret is another one")
		}
		before = string(text)
	}
}
