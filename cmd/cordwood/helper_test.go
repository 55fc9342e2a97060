package main

import (
	"testing"

	"cordwood/cmd/cordwood/cli/clitest"
)

// execute runs a command as main would, without the process.
func execute(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return clitest.Execute(t, newRootCommand(), stdin, args...)
}
