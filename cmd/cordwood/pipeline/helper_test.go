package pipeline

import (
	"testing"

	"cordwood/cmd/cordwood/cli/clitest"
)

// execute runs a command line of the program with the command of this package.
func execute(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return clitest.Execute(t, clitest.Root(NewCommand()), stdin, args...)
}
