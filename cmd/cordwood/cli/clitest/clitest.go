// Package clitest runs subcommands in tests, as the program would.
package clitest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
)

// Root returns the program with only the given commands, and the flags for a server.
func Root(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{Use: "cordwood", SilenceUsage: true, SilenceErrors: true}
	root.SetFlagErrorFunc(cli.FlagFault)
	for _, cmd := range commands {
		cli.AddClientFlags(cmd)
		root.AddCommand(cmd)
	}
	cli.SetErrors(root)
	return root
}

// Execute runs a command line, and returns its output.
func Execute(t *testing.T, root *cobra.Command, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errOut)
	err = root.Execute()
	return out.String(), errOut.String(), err
}

// Run runs a command line, writes its error to stderr, and returns the exit status.
func Run(root *cobra.Command, args []string, stderr io.Writer) int {
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		return cli.ExitOK
	}
	if !cli.IsSilent(err) {
		fmt.Fprintln(stderr, cli.Describe(cmd, err))
	}
	return cli.ExitStatus(err)
}

// WriteFile writes a file to a folder that is removed after the test, and returns its path.
func WriteFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
