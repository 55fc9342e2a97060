package main

import (
	"os"

	"github.com/spf13/cobra"

	"cordwood/node"
)

// newQueryWorkerCommand returns the command of the process that runs queries. The server starts it; it is not for
// users.
func newQueryWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    node.QueryWorkerCommand,
		Short:  "Run queries for a server, which starts this command",
		Hidden: true,
		Args:   cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			os.Exit(node.RunQueryWorker(version()))
		},
	}
}
