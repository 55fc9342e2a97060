// Command cordwood is the whole of cordwood in one binary: the server and the
// programs that talk to it. There is a file per subcommand.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func run(args []string, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	if s := (statusError{}); errors.As(err, &s) {
		return s.status
	}
	fmt.Fprintln(stderr, describe(cmd, suggest(cmd, err)))
	if u := (usageError{}); errors.As(err, &u) {
		return exitUsage
	}
	return exitFailed
}

const overview = `cordwood takes in logs over HTTP, cuts them to typed rows, and answers SQL.

Start a server and try it:

  cordwood serve
  curl -X POST 'http://127.0.0.1:4000/v1/ingest?table=app&pipeline_name=svc_identity' \
       -H 'Content-Type: application/json' -d '{"level":"info","msg":"hello"}'
  cordwood sql 'SELECT * FROM app'

The exit status of every command is 0 if it worked, 1 if it failed, and 2 if it was called wrongly.`

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
	root.SetFlagErrorFunc(flagFault)
	root.Version = version().Version
	root.SetVersionTemplate(versionText(version()))
	for _, client := range []*cobra.Command{newIngestCommand(), newSQLCommand(), newTailCommand(), newPipelineCommand(), newTableCommand(), newShardCommand(), newNodeCommand(), newClusterCommand(), newRebalanceCommand(), newBackupCommand(), newRestoreCommand(), newDoctorCommand(), newHealthCommand()} {
		addClientFlags(client)
		root.AddCommand(client)
	}
	root.AddCommand(newServeCommand(), newSecretCommand(), newAdminCommand(), newRecoverCommand(), newInspectCommand(), newVRLCommand(), newVersionCommand(), newQueryWorkerCommand())
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	completeArguments(root)
	settle(root)
	return root
}
