// Command cordwood is cordwood in one binary: the server and the programs that use it. A subcommand
// is a file or a package here; cli has the parts that they share.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/accounts"
	"cordwood/cmd/cordwood/backup"
	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/cluster"
	"cordwood/cmd/cordwood/ingest"
	"cordwood/cmd/cordwood/pipeline"
	"cordwood/cmd/cordwood/sql"
	"cordwood/cmd/cordwood/table"
	"cordwood/cmd/cordwood/tail"
	"cordwood/cmd/cordwood/vrl"
	_ "cordwood/proto/timerslack" // sysmon takes less CPU time
)

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

func run(args []string, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	wrong := cli.RefuseUnknownHelp(root)
	cmd, err := root.ExecuteC()
	if err == nil {
		err = *wrong
	}
	if err == nil {
		return cli.ExitOK
	}
	if !cli.IsSilent(err) {
		fmt.Fprintln(stderr, cli.Describe(cmd, suggest(cmd, err)))
	}
	return cli.ExitStatus(err)
}

const overview = `cordwood takes in logs over HTTP, cuts them to typed rows, and answers SQL.

Start a server and try it:

  cordwood serve
  curl -X POST 'http://127.0.0.1:4000/v1/ingest?table=app&pipeline_name=svc_identity' \
       -H 'Content-Type: application/json' -d '{"level":"info","msg":"hello"}'
  cordwood sql 'SELECT * FROM app'

The exit status of every command is 0 if it worked, 1 if it failed, and 2 if it was called wrongly.
'cordwood doctor' ends with 1 if somebody should look, and with 3 if something is damaged.`

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
	root.SetFlagErrorFunc(cli.FlagFault)
	root.Version = version().Version
	root.SetVersionTemplate(versionText(version()))
	for _, client := range []*cobra.Command{
		ingest.NewCommand(), sql.NewCommand(), tail.NewCommand(), pipeline.NewCommand(), table.NewCommand(),
		cluster.NewShardCommand(), cluster.NewNodeCommand(), cluster.NewCommand(), cluster.NewRebalanceCommand(),
		backup.NewCommand(version().Version), backup.NewRestoreCommand(), newDoctorCommand(), newHealthCommand(),
	} {
		cli.AddClientFlags(client)
		root.AddCommand(client)
	}
	root.AddCommand(newServeCommand(), newSecretCommand(), newUserCommand(), newAdminCommand(), newRecoverCommand(),
		newObjectStorageCommand(),
		accounts.NewRoleCommand(), accounts.NewGrantCommand(), accounts.NewRevokeCommand(), accounts.NewGrantsCommand(),
		accounts.NewQuotaCommand(), accounts.NewAuditCommand(),
		accounts.NewTokenCommand(), accounts.NewWhoamiCommand(), accounts.NewAccessCommand(),
		newInspectCommand(), vrl.NewCommand(), newVersionCommand(), newQueryWorkerCommand())
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	completeArguments(root)
	cli.SetErrors(root)
	return root
}
