package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/node/recovery"
)

func newRecoverCommand() *cobra.Command {
	var cfg recovery.Config
	cmd := &cobra.Command{
		Use: "recover",
		Short: "Continue with one copy of a shard, or of the metadata, when most others are lost; or with an older data " +
			"folder",
		Long: `Make one copy of a shard, or of the metadata, the only member of its group, after most of
the others were lost for good. Without a majority a group takes nothing and answers nothing,
for ever; this ends that, at the price of everything that only the lost members had.

With --group all one command does this for every group that the folder has a member of, the
metadata included. It shows a plan first, and refuses while another member still answers.

The server of the data folder must be stopped. For a single group, say which folders of other
members are left with --compare: the one whose last entry has the highest term, and then the
highest number, has most. Without --accept-data-loss nothing is changed.

A shard gets a new incarnation. When its node is started again it tells the metadata so, and
the cluster makes the missing replicas anew. Replicas of the old incarnation that turn up
again are set aside, as SHARD.incarnation-N beside the shard's folder.

After the metadata was recovered, the other nodes that were members of it must be told so,
with --retire, before they are started; they could go on as a group of their own.

A data folder that is older than the cluster knows it (a machine that was set back to a snapshot, a
folder from a copy) is refused when its node is started. With --group node it is let in once: for
folders with the only replica of a shard, which lose what is newer. Replicas that other nodes have
too are made anew from those; for them move the folder away and start the node with an empty one.`,
		Example: `  cordwood recover --group all --data-dir /var/lib/cordwood
  cordwood recover --group all --data-dir /var/lib/cordwood --accept-data-loss
  cordwood recover --group shard/7 --data-dir /var/lib/cordwood --compare /mnt/node-b
  cordwood recover --group shard/7 --data-dir /var/lib/cordwood --accept-data-loss
  cordwood recover --group meta --data-dir /var/lib/cordwood --accept-data-loss
  cordwood recover --group meta --data-dir /var/lib/cordwood --retire --accept-data-loss
  cordwood recover --group node --data-dir /var/lib/cordwood --accept-data-loss`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cfg.Group == "":
				return cli.WrongUsage(errors.New(
					"give what to recover: --group all, --group meta, --group shard/7, or --group node"))
			case cfg.DataDir == "":
				return cli.WrongUsage(errors.New("give the copy to continue with: --data-dir FOLDER of a stopped node"))
			}
			if err := recovery.CheckGroup(cfg.Group); err != nil {
				return cli.WrongUsage(fmt.Errorf("--group: %w", err))
			}
			return recovery.Run(cfg, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&cfg.Group, "group", "", "`GROUP` to recover (required): all, meta, shard/ and the number of "+
		"the shard, or node for a folder that the cluster refuses")
	cmd.Flags().StringVar(&cfg.DataDir, "data-dir", "",
		"data `FOLDER` of the node with the copy to continue with (required)")
	cmd.Flags().StringArrayVar(&cfg.Compare, "compare", nil,
		"also compare the data `FOLDER` of another member; may be repeated")
	cmd.Flags().BoolVar(&cfg.Accept, "accept-data-loss", false, "recover, and lose the data that only the other "+
		"members have")
	cmd.Flags().BoolVar(&cfg.Retire, "retire", false,
		"retire this node's metadata, after the metadata of another node was recovered")
	cmd.Flags().BoolVar(&cfg.OthersGone, "others-are-gone", false, "with --group all: continue although something "+
		"answers "+
		"at the address of another member, as a new node with an empty folder does")
	return cmd
}
