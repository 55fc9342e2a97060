package cluster

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

// NewShardCommand returns the command shard.
func NewShardCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shard",
		Short: "List, add and remove shards, move their replicas",
		Example: `  cordwood shard list
  cordwood shard add --count 2
  cordwood shard move 3 --from n1 --to n4 --wait
  cordwood shard replicas 3 3 --wait
  cordwood shard remove 3 --plan`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newShardListCommand(), newShardAddCommand(), newShardMoveCommand(), newShardReplicasCommand(),
		newShardRebuildCommand(), newShardSplitCommand(), newShardRemoveCommand(), newShardDropCommand(),
	)
	return cmd
}

func newShardListCommand() *cobra.Command {
	return statusCommand(&cobra.Command{
		Use:     "list",
		Short:   "List the shards with their replicas",
		Long:    "List the shards with their replicas. Replicas that do not vote yet are listed after a +.",
		Example: "  cordwood shard list\n  cordwood shard list --output json",
	}, func(w io.Writer, output string, status *clusterapi.Status, colors cli.Palette) error {
		return cli.PrintList(w, output, status.Shards, func(w io.Writer) { shardTable(w, status.Shards, colors) })
	})
}

func newShardAddCommand() *cobra.Command {
	var number, replication int
	var wait bool
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Create shards on the nodes that have the least data",
		Long: `Create new, empty shards on the nodes that have the least data. Replicas of a shard are in different
zones if there are enough. New tables are placed on new shards first. To move existing tables to
them, use 'cordwood table move' or 'cordwood shard split-hot'.`,
		Example: "  cordwood shard add\n  cordwood shard add --count 4 --replication 3 --wait",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if number < 1 {
				return cli.WrongUsage(fmt.Errorf("--count %d: want at least 1", number))
			}
			if replication < 0 {
				return cli.WrongUsage(fmt.Errorf("--replication %d: want at least 1, or 0 for the cluster's default", replication))
			}
			return begin(cmd, &clusterapi.Request{Kind: "shard-add", Count: number, Replicas: replication}, wait)
		},
	}
	cmd.Flags().IntVar(&number, "count", 1, "number of `SHARDS`")
	cmd.Flags().IntVar(&replication, "replication", 0, "`REPLICAS` of each; 0 means the cluster's default")
	waitFlag(cmd, &wait)
	return cmd
}

func newShardMoveCommand() *cobra.Command {
	var from, to string
	var wait bool
	cmd := &cobra.Command{
		Use:   "move SHARD",
		Short: "Move a replica of a shard to another node",
		Long: `Move a replica of a shard to another node while the shard is written and read. The new replica
copies all data before it votes. Then the old one is removed.`,
		Example: "  cordwood shard move 3 --from n1 --to n4 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shard, err := shardNumber(args[0])
			if err != nil {
				return err
			}
			if from == "" || to == "" {
				return cli.WrongUsage(fmt.Errorf(
					"--from NODE and --to NODE are needed: 'cordwood shard list' shows where the replicas are"))
			}
			return begin(cmd, &clusterapi.Request{Kind: "shard-move", Shard: shard, From: from, To: to}, wait)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`NODE` that loses its replica")
	cmd.Flags().StringVar(&to, "to", "", "`NODE` that gets the replica")
	waitFlag(cmd, &wait)
	return cmd
}

func newShardReplicasCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "replicas SHARD NUMBER",
		Short: "Change the number of replicas of a shard",
		Long: `Change the number of replicas of a shard, while it is written and read. A shard with three replicas
tolerates the failure of one node without loss or interruption; a shard with one replica tolerates
none.`,
		Example: "  cordwood shard replicas 3 3 --wait\n  cordwood shard replicas 3 1",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			shard, err := shardNumber(args[0])
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return cli.WrongUsage(fmt.Errorf("%q is not a number of replicas: use 1, 3 or 5", args[1]))
			}
			return begin(cmd, &clusterapi.Request{Kind: "replica-change", Shard: shard, Replicas: n}, wait)
		},
	}
	waitFlag(cmd, &wait)
	return cmd
}

func newShardRebuildCommand() *cobra.Command {
	var node string
	var wait bool
	cmd := &cobra.Command{
		Use:   "rebuild SHARD",
		Short: "Rebuild a replica of a shard from the others",
		Long: `Rebuild a replica of a shard on its node from the other replicas, while the shard is written and
read. Its files are deleted once all other replicas are available and intact. The cluster does this
by itself for replicas with damaged files.`,
		Example: "  cordwood shard rebuild 3 --node n2 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shard, err := shardNumber(args[0])
			if err != nil {
				return err
			}
			if node == "" {
				return cli.WrongUsage(fmt.Errorf("--node NODE is needed: 'cordwood shard list' shows where the replicas are"))
			}
			return begin(cmd, &clusterapi.Request{Kind: "replica-rebuild", Shard: shard, Node: node}, wait)
		},
	}
	cmd.Flags().StringVar(&node, "node", "", "`NODE` of the replica")
	waitFlag(cmd, &wait)
	return cmd
}

func newShardSplitCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "split-hot SHARD",
		Short: "Move the hottest tables of a shard to others, until its ingest is about halved",
		Long: `Move the writes of the hottest tables of a shard to the shards with the lowest ingest rates, until
the ingest rate of the shard is about halved. Stored rows stay where they are. To spread a single
hot table, set its option partitions instead.`,
		Example: "  cordwood shard split-hot 3 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shard, err := shardNumber(args[0])
			if err != nil {
				return err
			}
			return begin(cmd, &clusterapi.Request{Kind: "shard-split-hot", Shard: shard}, wait)
		},
	}
	waitFlag(cmd, &wait)
	return cmd
}

func newShardDropCommand() *cobra.Command {
	var typed string
	var wait bool
	cmd := &cobra.Command{
		Use:   "drop SHARD",
		Short: "Give up the rows of a shard whose nodes are lost permanently",
		Long: `Give up the rows of a shard whose nodes are lost for good, so that its tables can be written and
read again: the shard is created again on other nodes, without rows. The command is refused while a
replica answers. It shows what will be lost, and you confirm by typing the number of the shard, or
with --confirm. If a lost node returns later, its rows stay on its disk and are not used.`,
		Example: "  cordwood shard drop 3 --wait\n  cordwood shard drop 3 --confirm 3 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shard, err := shardNumber(args[0])
			if err != nil {
				return err
			}
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			r := &clusterapi.Request{Kind: "shard-drop", Shard: shard}
			answer, err := a.request(cmd, r)
			if err != nil {
				return err
			}
			if answer.Confirm != "" {
				fmt.Fprintln(cmd.ErrOrStderr(), answer.Message)
				if r.Confirm = typed; typed == "" {
					if r.Confirm, err = cli.Ask(cmd, "type the number of the shard to give up its rows: ",
						fmt.Sprintf("use --confirm %s", answer.Confirm)); err != nil {
						return err
					}
				}
				if r.Confirm != answer.Confirm {
					return fmt.Errorf("%q is not the number of shard %d: nothing was changed", r.Confirm, shard)
				}
				if answer, err = a.request(cmd, r); err != nil {
					return err
				}
			}
			return a.follow(cmd, answer, wait)
		},
	}
	cmd.Flags().StringVar(&typed, "confirm", "", "the `SHARD` again, instead of typing it")
	waitFlag(cmd, &wait)
	return cmd
}

// shardNumber parses the id of a shard.
func shardNumber(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, cli.WrongUsage(fmt.Errorf("%q is not a shard: shards are numbered from 1, 'cordwood shard list' lists them",
			text))
	}
	return uint32(n), nil
}
