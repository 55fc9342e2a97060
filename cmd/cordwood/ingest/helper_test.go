package ingest

import (
	"io"
	"testing"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli/clitest"
)

// newRootCommand returns the program with the command of this package.
func newRootCommand() *cobra.Command { return clitest.Root(NewCommand()) }

// execute runs a command line.
func execute(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return clitest.Execute(t, newRootCommand(), stdin, args...)
}

// run runs a command line, and returns the exit status.
func run(args []string, stderr io.Writer) int { return clitest.Run(newRootCommand(), args, stderr) }
