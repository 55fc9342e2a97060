// Command cordwood is the whole of cordwood in one binary: the server and the
// programs that talk to it. There is a file per subcommand.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError marks an error that comes from how the command was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func run(args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	if s := (statusError{}); errors.As(err, &s) {
		return s.status
	}
	// One line, whatever the error's own layout.
	text := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	fmt.Fprintf(os.Stderr, "%s: %s\n", cmd.CommandPath(), text)
	if u := (usageError{}); errors.As(err, &u) || isCobraUsage(err) {
		fmt.Fprintf(os.Stderr, "See '%s --help'.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// isCobraUsage recognises the errors that cobra makes of wrong commands and arguments.
func isCobraUsage(err error) bool {
	for _, prefix := range []string{"unknown command", "accepts ", "requires ", "required flag", "invalid argument"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

const overview = `cordwood takes in logs over HTTP, cuts them to typed rows, and answers SQL.

Start a server and try it:

  cordwood serve
  curl -X POST 'http://127.0.0.1:4000/v1/ingest?table=app&pipeline_name=svc_identity' \
       -H 'Content-Type: application/json' -d '{"level":"info","msg":"hello"}'
  cordwood sql 'SELECT * FROM app'`

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "cordwood",
		Short:         "A log ingestion database",
		Long:          overview,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	for _, client := range []*cobra.Command{newIngestCommand(), newSQLCommand(), newTailCommand(), newPipelineCommand(), newTableCommand(), newBackupCommand(), newRestoreCommand()} {
		addClientFlags(client)
		root.AddCommand(client)
	}
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			// cobra shows its help, and succeeds, whatever the argument is.
			c.Args = cobra.NoArgs
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	root.AddCommand(newServeCommand(), newInspectCommand(), newDoctorCommand(), newVRLCommand(), newVersionCommand(), newQueryWorkerCommand())
	return root
}

// addClientFlags gives a command that talks to a server, and its subcommands, the
// flags that say to which one and as whom.
func addClientFlags(cmd *cobra.Command) {
	cmd.PersistentFlags().String("server", envOr("CORDWOOD_SERVER", "http://127.0.0.1:4000"), "server to talk to (environment: CORDWOOD_SERVER)")
	cmd.PersistentFlags().String("user", os.Getenv("CORDWOOD_USER"), "`NAME:PASSWORD` (environment: CORDWOOD_USER)")
	// The password must not show up as a default in help texts.
	cmd.PersistentFlags().Lookup("user").DefValue = ""
}

func envOr(name, otherwise string) string {
	if v, ok := os.LookupEnv(name); ok && v != "" {
		return v
	}
	return otherwise
}
