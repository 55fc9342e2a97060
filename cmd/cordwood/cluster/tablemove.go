package cluster

import (
	"fmt"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/clusterapi"
)

// NewTableMoveCommand returns the command table move; db is the default database.
func NewTableMoveCommand(db *string) *cobra.Command {
	var to []string
	var rows, wait bool
	cmd := &cobra.Command{
		Use:   "move TABLE",
		Short: "Move a table's writes to another shard",
		Long: `Move the writes of a table to another shard, at once and without a pause. Stored rows stay where
they are until they expire, and queries still find them. With several shards, new rows are spread
over them.

With --with-rows, the stored rows of all shards move too: they are copied while the table is read
and written in its old place, then writes wait for a moment, and afterwards the former shards have
no rows of the table. A table that merges rows always moves with its rows. 'cordwood cluster cancel'
leaves the table where it was.`,
		Example: "  cordwood table move access --to 4 --wait\n  cordwood table move access --to 4 --with-rows --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(to) == 0 {
				return cli.WrongUsage(fmt.Errorf("--to SHARD is needed: 'cordwood shard list' lists the shards"))
			}
			database, table, err := cli.TableName(cmd, *db, args[0])
			if err != nil {
				return err
			}
			if database == "" {
				c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) })
				if err != nil {
					return err
				}
				if database, err = cli.DatabaseName(cmd, c, ""); err != nil {
					return err
				}
			}
			r := &clusterapi.Request{Kind: "table-move", Table: schema.FormatTableName(database, table), WithRows: rows}
			for _, text := range to {
				id, err := shardNumber(text)
				if err != nil {
					return cli.WrongUsage(fmt.Errorf("--to: %w", err))
				}
				r.ToShards = append(r.ToShards, id)
			}
			return begin(cmd, r, wait)
		},
	}
	cmd.Flags().StringSliceVar(&to, "to", nil, "`SHARD` that takes the writes; separate several by commas")
	cmd.Flags().BoolVar(&rows, "with-rows", false, "move the stored rows too")
	waitFlag(cmd, &wait)
	return cmd
}
