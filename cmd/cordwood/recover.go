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
	var from fromBucket
	cmd := &cobra.Command{
		Use: "recover",
		Short: "Continue with one copy of a shard, or of the metadata, when most others are lost; or with an older data " +
			"folder; or make a lost cluster anew from object storage",
		Long: `Make one copy of a shard, or of the metadata, the only member of its group, after most of the others
were lost for good. A group without a majority can neither write nor answer reads. This command
makes it work again, but loses all data that only the lost members had.

With --group all, one command does this for every group that has a member in the folder, including
the metadata. It shows a plan first, and refuses while another member answers.

The server of the data folder must be stopped. For a single group, list the remaining folders of
other members with --compare. The member whose last entry has the highest term, and then the highest
index, has the most data. Without --accept-data-loss, nothing is changed.

A shard gets a new incarnation. When its node is started again, it reports this to the metadata, and
the cluster creates the missing replicas. Replicas of the old incarnation that reappear are moved to
SHARD.incarnation-N beside the shard's folder.

After the metadata was recovered, run the command with --retire on the other nodes that were members
of its group, before they are started. Otherwise they could continue as a second group.

A node with an older data folder than the cluster knows (for example from a snapshot of the machine,
or a copy of the folder) is refused when it starts. --group node admits such a folder once. Use it
for folders with the only replica of a shard, which lose their newer rows. Replicas that other nodes
have too are rebuilt from those nodes. If other nodes have replicas of all its shards, move the
folder away and start the node with an empty one.

--from-bucket makes a new cluster from what a lost cluster has stored in object storage: tables,
pipelines, settings, and all rows that were there. Everything else is lost. The command writes the
data folder of a first node. Users, roles, grants and tokens come back with --cluster-secret-file,
the secret of the lost cluster. Credentials of the bucket come from the environment, as for the
server. The lost cluster must not run any more. Without --accept-data-loss, the command only prints
what would come back.`,
		Example: `  cordwood recover --group all --data-dir /var/lib/cordwood
  cordwood recover --group all --data-dir /var/lib/cordwood --accept-data-loss
  cordwood recover --group shard/7 --data-dir /var/lib/cordwood --compare /mnt/node-b
  cordwood recover --group shard/7 --data-dir /var/lib/cordwood --accept-data-loss
  cordwood recover --group meta --data-dir /var/lib/cordwood --accept-data-loss
  cordwood recover --group meta --data-dir /var/lib/cordwood --retire --accept-data-loss
  cordwood recover --group node --data-dir /var/lib/cordwood --accept-data-loss
  cordwood recover --from-bucket s3://logs/prod --data-dir /var/lib/cordwood
  cordwood recover --from-bucket s3://logs/prod --data-dir /var/lib/cordwood \
    --cluster-secret-file cluster-secret --accept-data-loss`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case from.url != "":
				return from.run(cmd, &cfg)
			case cfg.Group == "":
				return cli.WrongUsage(errors.New(
					"say what to recover: --group all, --group meta, --group shard/7, --group node, or --from-bucket URL"))
			case from.any(cmd):
				return cli.WrongUsage(errors.New("--cluster, --cluster-secret-file, --allow-missing and the flags of S3 " +
					"services are for --from-bucket"))
			case cfg.DataDir == "":
				return cli.WrongUsage(errors.New("give the copy to continue with: --data-dir FOLDER of a stopped node"))
			}
			if err := recovery.CheckGroup(cfg.Group); err != nil {
				return cli.WrongUsage(fmt.Errorf("--group: %w", err))
			}
			return recovery.Run(cfg, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&cfg.Group, "group", "", "`GROUP` to recover: all, meta, shard/ and the number of "+
		"the shard, or node for a folder that the cluster refuses")
	cmd.Flags().StringVar(&cfg.DataDir, "data-dir", "",
		"data `FOLDER` of the node with the copy to continue with, or with --from-bucket of the new node (required)")
	cmd.Flags().StringArrayVar(&cfg.Compare, "compare", nil,
		"also compare the data `FOLDER` of another member; may be repeated")
	cmd.Flags().BoolVar(&cfg.Accept, "accept-data-loss", false, "recover, and lose the data that only the other "+
		"members have")
	cmd.Flags().BoolVar(&cfg.Retire, "retire", false,
		"retire this node's metadata, after the metadata of another node was recovered")
	cmd.Flags().BoolVar(&cfg.OthersGone, "others-are-gone", false, "with --group all: continue although something "+
		"answers at the address of another member, as a new node with an empty folder does; with --from-bucket: continue "+
		"although the cluster seems to run, or was made anew before")
	from.flags(cmd)
	return cmd
}
