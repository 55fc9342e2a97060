// Package table has the subcommand table. Each of its commands runs an SQL statement, except move,
// which is an operation of the cluster.
package table

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/cmd/cordwood/cluster"
	"cordwood/proto/schema"
)

// NewCommand returns the command table.
func NewCommand() *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use:   "table",
		Short: "List tables, show and change their options, move and drop them",
		Long: `Tables are created by the first rows that are written to them. These commands manage them. Each
corresponds to a statement of 'cordwood sql'.

TABLE is the name of a table in the database of --db, or DATABASE.TABLE. A name that contains a dot
must be in double quotes, which need protection from the shell: '"app.v2"'.`,
		Example: `  cordwood table list --like 'app_%'
  cordwood table set access ttl=30d
  cordwood table drop --db shop old_orders`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&db, "db", "",
		"`DATABASE` of the table; the default database of the user or token by default")
	cmd.AddCommand(
		newListCommand(&db), newShowCommand(&db), newSetCommand(&db), newUnsetCommand(&db),
		newRenameCommand(&db), newDropCommand(&db), newTruncateCommand(&db), cluster.NewTableMoveCommand(&db),
	)
	return cmd
}

// retryTime is the time for which a statement is retried.
const retryTime = 30 * time.Second

// api runs statements about the tables of one database.
type api struct {
	client *client.Client
	db     string
	errOut io.Writer // of the server's warnings
}

func newAPI(cmd *cobra.Command, db string) (*api, error) {
	errOut := cmd.ErrOrStderr()
	c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(errOut, text) })
	return &api{client: c, db: db, errOut: errOut}, err
}

// tableName parses TABLE or DATABASE.TABLE. Without a database there and in db, it asks for the default of the user.
func tableName(cmd *cobra.Command, db, text string) (database, table string, err error) {
	if database, table, err = cli.TableName(cmd, db, text); err != nil || database != "" {
		return database, table, err
	}
	a, err := newAPI(cmd, db)
	if err != nil {
		return "", "", err
	}
	database, err = cli.DatabaseName(cmd, a.client, "")
	return database, table, err
}

// rows runs a statement that reads, and calls fn with each row, a JSON object.
func (a *api) rows(ctx context.Context, statement string, fn func(row []byte) error) error {
	return a.run(ctx, statement, true, fn)
}

// change runs a statement that returns no rows. It is not repeated if its outcome is unknown.
func (a *api) change(ctx context.Context, statement string) error {
	return a.run(ctx, statement, false, func([]byte) error { return nil })
}

func (a *api) run(ctx context.Context, statement string, reads bool, fn func(row []byte) error) error {
	query := url.Values{"format": {"ndjson"}}
	cli.SetParameter(query, "db", a.db)
	resp, err := a.client.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/sql", Query: query,
		Header: http.Header{"Content-Type": {"application/sql"}}, Body: []byte(statement), Reads: reads, Within: retryTime,
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	cli.PrintWarnings(a.errOut, resp.Header)
	return cli.EachLine(resp.Body, fn)
}

// listedTable is a table in a list.
type listedTable struct {
	Name    string `json:"name" yaml:"name"`
	Rows    *int64 `json:"rows" yaml:"rows"`
	Bytes   *int64 `json:"bytes" yaml:"bytes"`
	Bucket  *int64 `json:"bucket_bytes" yaml:"bucket_bytes"`
	Waiting *int64 `json:"waiting_bytes" yaml:"waiting_bytes"`
	TTL     string `json:"ttl" yaml:"ttl"`
	Shard   *int64 `json:"shard" yaml:"shard"`
	Options string `json:"options" yaml:"options"`
	Created string `json:"created" yaml:"created"`
}

func newListCommand(db *string) *cobra.Command {
	var output, like string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tables of a database with rows, bytes and shard",
		Long: `List the tables of a database. ROWS and BYTES are the stored amounts: rows that have expired, or
that newer rows have replaced, count until compaction removes them. SELECT count(*) counts the rows
that queries see. BYTES are those on the local disk of one replica. If rows are in object storage, or
will be, BUCKET has the bytes there, and WAITING those on the local disk that are not there yet; rows
may be in both. A "-" means that a shard of the table cannot be reached, or that you may not read the
table.`,
		Example: "  cordwood table list\n  cordwood table list --db shop --like 'order%' --output json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := newAPI(cmd, *db)
			if err != nil {
				return err
			}
			database, err := cli.DatabaseName(cmd, a.client, *db)
			if err != nil {
				return err
			}
			where := "table_schema = " + cli.Literal(database)
			if like != "" {
				where += " AND table_name LIKE " + cli.Literal(like)
			}
			list := []listedTable{}
			err = a.rows(cmd.Context(), `SELECT table_name AS name, "rows", bytes, bucket_bytes, waiting_bytes, ttl, `+
				`shard_id AS shard, options, create_time AS created FROM information_schema.tables WHERE `+
				where+" ORDER BY table_name", func(row []byte) error {
				var t listedTable
				if err := json.Unmarshal(row, &t); err != nil {
					return fmt.Errorf("reading the server's answer: %w", err)
				}
				list = append(list, t)
				return nil
			})
			if err != nil {
				return err
			}
			return cli.PrintList(cmd.OutOrStdout(), output, list, func(w io.Writer) {
				printTables(w, list)
			})
		},
	}
	cli.ListOutput(cmd, &output)
	cmd.Flags().StringVar(&like, "like", "",
		"only tables whose name is like `PATTERN`; % stands for any text, _ for any character")
	return cmd
}

// printTables prints a list, with the columns about object storage only if there is something in them.
func printTables(w io.Writer, list []listedTable) {
	tiered := slices.ContainsFunc(list, func(t listedTable) bool {
		return t.Bucket != nil && *t.Bucket > 0 || t.Waiting != nil && *t.Waiting > 0
	})
	head := "NAME\tROWS\tBYTES\t"
	if tiered {
		head += "BUCKET\tWAITING\t"
	}
	fmt.Fprintln(w, head+"TTL\tSHARD")
	for _, t := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t", t.Name, known(t.Rows), knownSize(t.Bytes))
		if tiered {
			fmt.Fprintf(w, "%s\t%s\t", knownSize(t.Bucket), knownSize(t.Waiting))
		}
		fmt.Fprintf(w, "%s\t%s\n", cmp.Or(t.TTL, "forever"), known(t.Shard))
	}
}

// known formats a number that the server may not have.
func known(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func knownSize(n *int64) string {
	if n == nil {
		return "-"
	}
	return cli.FormatSize(*n)
}

func newShowCommand(db *string) *cobra.Command {
	return &cobra.Command{
		Use:     "show TABLE",
		Short:   "Print the statement that creates a table like this one",
		Example: "  cordwood table show access",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			database, table, err := tableName(cmd, *db, args[0])
			if err != nil {
				return err
			}
			a, err := newAPI(cmd, database)
			if err != nil {
				return err
			}
			return a.rows(cmd.Context(), "SHOW CREATE TABLE "+cli.Quoted(table), func(row []byte) error {
				var t struct {
					Statement string `json:"Create Table"`
				}
				if err := json.Unmarshal(row, &t); err != nil {
					return fmt.Errorf("reading the server's answer: %w", err)
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), t.Statement)
				return err
			})
		},
	}
}

func newSetCommand(db *string) *cobra.Command {
	return &cobra.Command{
		Use:   "set TABLE OPTION=VALUE…",
		Short: "Change options of a table",
		Long: `Change options of a table. They take effect at once. The option ttl is how long rows are kept,
measured from their time: ttl=30d, ttl=12h, ttl=forever.`,
		Example: "  cordwood table set access ttl=30d\n  cordwood table set metrics append_mode=true",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var pairs []string
			for _, arg := range args[1:] {
				key, value, ok := strings.Cut(arg, "=")
				if !ok || key == "" {
					return cli.WrongUsage(fmt.Errorf("%q: write OPTION=VALUE, such as ttl=30d", arg))
				}
				pairs = append(pairs, cli.Literal(key)+"="+cli.Literal(value))
			}
			return changeTable(cmd, *db, args[0], "ALTER TABLE", "SET "+strings.Join(pairs, ", "), "changed")
		},
	}
}

func newUnsetCommand(db *string) *cobra.Command {
	return &cobra.Command{
		Use:     "unset TABLE OPTION…",
		Short:   "Reset options of a table to their defaults",
		Example: "  cordwood table unset access ttl",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var keys []string
			for _, key := range args[1:] {
				keys = append(keys, cli.Literal(key))
			}
			return changeTable(cmd, *db, args[0], "ALTER TABLE", "UNSET "+strings.Join(keys, ", "), "changed")
		},
	}
}

func newRenameCommand(db *string) *cobra.Command {
	return &cobra.Command{
		Use:     "rename TABLE NAME",
		Short:   "Give a table another name",
		Example: "  cordwood table rename access access_2025",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			database, table, err := tableName(cmd, *db, args[0])
			if err != nil {
				return err
			}
			other, name, err := cli.TableName(cmd, database, args[1])
			if err != nil {
				return err
			}
			if other != database {
				return cli.WrongUsage(fmt.Errorf("a renamed table stays in its database %s: %s is in another one", database,
					args[1]))
			}
			return change(cmd, database, table, "ALTER TABLE", "RENAME TO "+cli.Quoted(name), "renamed")
		},
	}
}

func newDropCommand(db *string) *cobra.Command {
	return newRemovalCommand(db, "drop", "Remove a table with all its rows", "DROP TABLE", "dropped")
}

func newTruncateCommand(db *string) *cobra.Command {
	return newRemovalCommand(db, "truncate", "Remove all rows of a table", "TRUNCATE TABLE", "truncated")
}

// newRemovalCommand makes a command that asks for confirmation. Without a terminal it needs --yes.
func newRemovalCommand(db *string, verb, short, statement, done string) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:     verb + " TABLE",
		Short:   short,
		Long:    short + ". That cannot be undone.",
		Example: "  cordwood table " + verb + " access\n  cordwood table " + verb + " --yes access",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			database, table, err := tableName(cmd, *db, args[0])
			if err != nil {
				return err
			}
			if !yes {
				if err := checkExists(cmd, database, table); err != nil {
					return err
				}
				if err := cli.Confirm(cmd, fmt.Sprintf("%s table %s of database %s with its rows?", verb, table, database)); err !=
					nil {
					return err
				}
			}
			return change(cmd, database, table, statement, "", done)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// checkExists returns an error if there is no such table, so that the user is not asked about a
// missing one.
func checkExists(cmd *cobra.Command, database, table string) error {
	a, err := newAPI(cmd, database)
	if err != nil {
		return err
	}
	err = a.rows(cmd.Context(), "SHOW CREATE TABLE "+cli.Quoted(table), func([]byte) error { return nil })
	answer := (*client.Error)(nil)
	if errors.As(err, &answer) && answer.Status == http.StatusForbidden {
		return nil // a user who may not read it may still remove it
	}
	return err
}

// changeTable runs a statement about a table; verb and rest surround the table's name.
func changeTable(cmd *cobra.Command, db, name, verb, rest, done string) error {
	database, table, err := tableName(cmd, db, name)
	if err != nil {
		return err
	}
	return change(cmd, database, table, verb, rest, done)
}

func change(cmd *cobra.Command, database, table, verb, rest, done string) error {
	a, err := newAPI(cmd, database)
	if err != nil {
		return err
	}
	if err := a.change(cmd.Context(), strings.TrimSpace(verb+" "+cli.Quoted(table)+" "+rest)); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", done, schema.FormatTableName(database, table))
	return nil
}
