package main

import (
	"os"

	"github.com/spf13/cobra"

	"cordwood/node"
)

// newQueryWorkerCommand is not for people: the server runs it.
func newQueryWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    node.QueryWorkerCommand,
		Short:  "Run queries for a server, which starts this by itself",
		Hidden: true,
		Args:   cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			os.Exit(node.RunQueryWorker(version()))
		},
	}
}
