package cluster

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

func newShardRemoveCommand() *cobra.Command {
	var planOnly, wait bool
	var output string
	cmd := &cobra.Command{
		Use:   "remove SHARD",
		Short: "Remove a shard; its tables move to other shards with their rows",
		Long: `Remove a shard. Its tables move to other shards with their rows, two at a time, while they are read
and written. Then the cluster waits until no query reads the shard, and until the shard has
forgotten the keys of requests (Idempotency-Key), which takes 15 minutes after the last request.
Then the replicas are deleted. The number of the shard is not used again.

--plan only shows where the tables would move. Until the shard is removed, 'cordwood cluster cancel'
keeps it. Tables that have already moved to other shards stay there.

If the nodes of a shard are lost with its rows, use 'cordwood shard drop'.`,
		Example: "  cordwood shard remove 3 --plan\n  cordwood shard remove 3 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shard, err := shardNumber(args[0])
			switch {
			case err != nil:
				return err
			case planOnly && wait:
				return cli.WrongUsage(errors.New("--plan only shows the moves: remove it, or remove --wait"))
			case output != "table" && !planOnly:
				return cli.WrongUsage(fmt.Errorf(
					"--output %s needs --plan: 'cordwood cluster operations --output %s' shows the operations", output, output))
			}
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			answer, err := a.request(cmd, &clusterapi.Request{Kind: "shard-remove", Shard: shard, Plan: planOnly})
			switch {
			case err != nil:
				return err
			case !planOnly:
				return a.follow(cmd, answer, wait)
			case answer.Removal == nil:
				return errors.New("the server's answer has no plan")
			}
			return cli.PrintList(cmd.OutOrStdout(), output, answer.Removal, func(w io.Writer) {
				removalTable(w, answer.Removal)
			})
		},
	}
	cmd.Flags().BoolVar(&planOnly, "plan", false, "only show the moves; --output json or yaml are for programs")
	waitFlag(cmd, &wait)
	cli.ListOutput(cmd, &output)
	return cmd
}

// removalTable prints the plan of a shard-remove.
func removalTable(w io.Writer, r *clusterapi.Removal) {
	if len(r.Tables) == 0 {
		fmt.Fprintf(w, "shard %d has no tables: nothing is copied\n", r.Shard)
	} else {
		fmt.Fprintln(w, "TABLE\tBYTES\tFROM\tTO")
		for _, t := range r.Tables {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Table, cli.FormatSize(t.Bytes), shardList(t.From), shardList(t.To))
		}
		fmt.Fprintf(w, "\n%s, %s to copy\n", cli.Count(len(r.Tables), "table"), cli.FormatSize(r.Bytes))
	}
	for _, reason := range r.Waits {
		fmt.Fprintf(w, "has to wait: %s\n", reason)
	}
}

// shardList formats ids of shards.
func shardList(ids []uint32) string {
	var texts []string
	for _, id := range ids {
		texts = append(texts, strconv.FormatUint(uint64(id), 10))
	}
	return cli.Dash(strings.Join(texts, ","))
}
