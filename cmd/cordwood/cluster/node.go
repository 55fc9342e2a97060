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
		Long: `List, drain and remove nodes. NODE is the name of a node (the flag --node-name of 'cordwood serve')
or its id.`,
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
		Short: "Move all replicas away from a node, which then gets no new replicas",
		Long: `Move the leaderships and the replicas of all shards to other nodes. The node gets no new replicas
until 'cordwood node undrain'. With --for-restart only leaderships move, and the node keeps its
replicas.`,
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
		Short: "Remove a node permanently, after moving its replicas away",
		Long: `Move all replicas to other nodes, and remove the node from the metadata group. A node that does not
answer can be decommissioned too: its replicas are rebuilt from the other replicas, and the node is
removed from the cluster. A node that answers must be stopped afterwards, and then be removed with
'cordwood node remove'. A voter of the metadata group that no other node can replace is kept, unless
--force allows the group to tolerate fewer failures.`,
		Example: "  cordwood node decommission n3 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				if err := cli.Confirm(cmd, fmt.Sprintf("move everything away from node %s permanently?", args[0])); err != nil {
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
		Short: "Remove a node that is stopped and has no replicas",
		Long: `Remove a node that is stopped and has no replicas, such as a decommissioned node, or a node without
the role shard. It can rejoin the cluster only with an empty data folder.`,
		Example: "  cordwood node remove n3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return begin(cmd, &clusterapi.Request{Kind: "node-remove", Node: args[0], Force: force}, false)
		},
	}
	forceFlag(cmd, &force)
	return cmd
}
