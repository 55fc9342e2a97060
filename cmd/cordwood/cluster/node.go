package cluster

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

// NewNodeCommand returns the command node.
func NewNodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node",
		Short: "List, drain and remove nodes",
		Long: `List nodes, empty them, and take them out of the cluster. A node is named by its name (the
flag --node-name of 'cordwood serve') or its id.`,
		Example: `  cordwood node list
  cordwood node drain n3 --wait
  cordwood node decommission n3 --wait`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newNodeListCommand(), newNodeDrainCommand(), newNodeUndrainCommand(), newNodeDecommissionCommand(),
		newNodeRemoveCommand(), newNodeScaleCommand(), newNodeForgetCommand(),
	)
	return cmd
}

func newNodeListCommand() *cobra.Command {
	return statusCommand(&cobra.Command{
		Use:     "list",
		Short:   "List the nodes with their replicas and rows",
		Example: "  cordwood node list\n  cordwood node list --output json",
	}, func(w io.Writer, output string, status *clusterapi.Status, colors cli.Palette) error {
		return cli.PrintList(w, output, status.Nodes, func(w io.Writer) { nodeTable(w, status.Nodes, colors) })
	})
}

func newNodeDrainCommand() *cobra.Command {
	var wait, restart bool
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Move everything away from a node, which then gets nothing new",
		Long: `Move the leadership and the replicas of all shards away from a node, which gets nothing new
until 'cordwood node undrain'. With --for-restart only leaders are moved: the node keeps its
replicas, and comes back with them.`,
		Example: "  cordwood node drain n3 --wait\n  cordwood node drain n3 --for-restart --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return begin(cmd, &clusterapi.Request{Kind: "node-drain", Node: args[0], ForRestart: restart}, wait)
		},
	}
	cmd.Flags().BoolVar(&restart, "for-restart", false, "move only leaders")
	waitFlag(cmd, &wait)
	return cmd
}

func newNodeUndrainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "undrain NODE",
		Short:   "Make a drained node active again, or cancel its drain",
		Example: "  cordwood node undrain n3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return begin(cmd, &clusterapi.Request{Kind: "node-undrain", Node: args[0]}, false)
		},
	}
}

func newNodeDecommissionCommand() *cobra.Command {
	var wait, yes, force bool
	cmd := &cobra.Command{
		Use:   "decommission NODE",
		Short: "Move everything away from a node for good",
		Long: `Move all replicas away from a node, and take it out of the metadata group. A node that does
not answer any more can be decommissioned too: its replicas are made anew from those on
other nodes, and the cluster forgets it. One that answers is to be stopped afterwards, and
forgotten by 'cordwood node remove'. A voter of the metadata group whose place no other node can
take stays, unless --force says that the group may tolerate less from then on.`,
		Example: "  cordwood node decommission n3 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				if err := cli.Confirm(cmd, fmt.Sprintf("move everything away from node %s for good?", args[0])); err != nil {
					return err
				}
			}
			return begin(cmd, &clusterapi.Request{Kind: "node-decommission", Node: args[0], Force: force}, wait)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	forceFlag(cmd, &force)
	waitFlag(cmd, &wait)
	return cmd
}

// forceFlag adds the flag --force of commands that remove nodes from the cluster.
func forceFlag(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "continue even if the metadata group then tolerates fewer failures")
}

func newNodeRemoveCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "remove NODE",
		Short: "Remove a node that is stopped and holds nothing",
		Long: `Forget a node that is stopped and holds nothing, as one without the role shard, or one that was
decommissioned. It can come back with an empty data folder only.`,
		Example: "  cordwood node remove n3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return begin(cmd, &clusterapi.Request{Kind: "node-remove", Node: args[0], Force: force}, false)
		},
	}
	forceFlag(cmd, &force)
	return cmd
}
