package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/node/backup"
	"cordwood/proto/words"
)

// NewRestoreCommand returns the command restore.
func NewRestoreCommand() *cobra.Command {
	var repository repositoryFlags
	var transfer transferFlags
	var cfg backup.RestoreConfig
	var intoExisting, replace bool
	cmd := &cobra.Command{
		Use:   "restore REPOSITORY",
		Short: "Restore a backup into a cluster",
		Long: `Restore a backup, or some of its tables, into a running cluster, which may be empty or have other
tables. With --table, tables may be restored into a database that has other tables. For a database,
or for everything, this needs --into-existing. The number of shards may differ from the number in
the backed-up cluster.

The restore contains databases with their options; tables with their columns, options and creation
times; all versions of all pipelines; and the rows that have not expired. It does not contain users,
settings of the server, or the tables that the server keeps in svc_private.

To continue an interrupted restore, run the same command again: complete tables are kept, and
incomplete ones are emptied and restored again. Queries see the rows of a table as they are
restored.

With --replace, all files that are needed are read and checked first. Then the tables are restored
under temporary names, which begin with _restore_. The cluster needs space for the old and the new
tables. When all tables are complete, they replace the old ones in one step. Until then, and if the
restore fails or is killed, the old tables stay unchanged. Rows written to them meanwhile are lost
when they are replaced. The next run reuses or removes what an interrupted restore has left.

` + repositoryHelp,
		Example: `  cordwood restore /mnt/backups
  cordwood restore s3://backups/cordwood --backup 20260704T020000123Z-k3v9xw
  cordwood restore /mnt/backups --table nginx --table web.access
  cordwood restore /mnt/backups --database web --into-existing
  cordwood restore /mnt/backups --table nginx --replace`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := transfer.check(); err != nil {
				return err
			}
			switch {
			case replace:
				cfg.Existing = backup.Replace
			case intoExisting:
				cfg.Existing = backup.Add
			}
			cfg.Parallel, cfg.Rate, cfg.TempDir = transfer.parallel, backup.NewLimiter(int64(transfer.rate)), repository.tempDir
			ctx, stop := cli.Interruptible(cmd)
			defer stop()
			return restoreBackup(ctx, cmd, args[0], &repository, cfg)
		},
	}
	repository.add(cmd)
	transfer.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&cfg.Backup, "backup", "latest",
		"`ID` of the backup, or a unique prefix of it")
	fs.StringArrayVar(&cfg.Databases, "database", nil, "restore only this `DATABASE`; may be repeated")
	fs.StringArrayVar(&cfg.Tables, "table", nil, "restore only this table, given as `[DATABASE.]TABLE`; may be repeated")
	fs.BoolVar(&intoExisting, "into-existing", false, "restore into databases that have other tables")
	fs.BoolVar(&replace, "replace", false, "replace tables of the same names after all tables are restored")
	fs.BoolVar(&cfg.NoPipelines, "no-pipelines", false, "leave out the pipelines and the saved searches and views of "+
		"users")
	fs.BoolVar(&cfg.MetadataOnly, "metadata-only", false,
		"leave out the rows; the tables accept rows at once, and a later restore of their rows needs --replace")
	return cmd
}

// unchanged adds advice to the error of a restore that has changed nothing because a manifest, or
// the metadata of a backup, is damaged.
func unchanged(err error, location string) error {
	if !strings.Contains(err.Error(), " is damaged: ") {
		return err
	}
	return fmt.Errorf("%w; nothing was changed: restore another backup (--backup; 'cordwood backup list %s' lists them)",
		err, location)
}

func restoreBackup(ctx context.Context, cmd *cobra.Command, location string, repository *repositoryFlags,
	cfg backup.RestoreConfig,
) error {
	r, err := repository.open(ctx, location)
	if err != nil {
		return err
	}
	cluster, disconnect, err := connect(ctx, cmd)
	if err != nil {
		return err
	}
	defer disconnect()
	var p backup.Progress
	cfg.Target, cfg.Progress, cfg.Logger = cluster, &p, noteLogger(cmd.ErrOrStderr())
	stop := showProgress(cmd.ErrOrStderr(), func() string {
		if p.TotalRows.Load() == 0 && p.TotalBytes.Load() > 0 {
			return fmt.Sprintf("checking the backup: %s of %s", cli.FormatSize(p.Bytes.Load()),
				cli.FormatSize(p.TotalBytes.Load()))
		}
		text := fmt.Sprintf("restoring: %d of %s", p.Rows.Load(), cli.Count(p.TotalRows.Load(), "row"))
		if why := p.Waiting(); why != "" {
			text += "; " + why
		}
		return text
	})
	result, err := r.Restore(ctx, cfg)
	stop()
	switch inTheWay := (*backup.InTheWayError)(nil); {
	case err == nil:
	case result == nil || errors.As(err, &inTheWay):
		return unchanged(err, location)
	case cfg.Existing == backup.Replace && result.Replaced == 0:
		return fmt.Errorf("%w; no table was replaced, and %s restored into tables named _restore_…: "+
			"run the same command again to continue, or drop these", err, were(result.Rows, "row"))
	default:
		return fmt.Errorf("%w; %s restored: run the same command again to continue", err, were(result.Rows, "row"))
	}
	return repository.print(cmd, result, func(w io.Writer) { printRestored(w, result) })
}

// printRestored prints the result of a restore.
func printRestored(w io.Writer, result *backup.RestoreResult) {
	fmt.Fprintf(w, "restored backup %s: %s, %s, %s, %s of pipelines\n", result.Backup,
		cli.Count(result.Databases, "database"),
		cli.Count(result.Tables, "table"), cli.Count(result.Rows, "row"), cli.Count(result.Pipelines, "version"))
	if result.Saved > 0 {
		fmt.Fprintf(w, "%s saved by users\n", cli.Count(result.Saved, "thing"))
	}
	if result.Replaced > 0 {
		fmt.Fprintf(w, "%s replaced\n", were(result.Replaced, "table"))
	}
	if n := len(result.Removed); n > 0 {
		fmt.Fprintf(w, "%s from earlier restores dropped: %s\n", were(n, "table"), shortList(result.Removed))
	}
	if n := len(result.Leftovers); n > 0 {
		fmt.Fprintf(w, "%s left by unfinished restores of other tables: run those restores again, or drop these tables: %s\n",
			were(n, "table"), shortList(result.Leftovers))
	}
	if result.Expired > 0 {
		fmt.Fprintf(w, "%s left out, as expired\n", were(result.Expired, "row"))
	}
	if n := len(result.Complete); n > 0 {
		fmt.Fprintf(w, "%s complete from an earlier restore of this backup: %s\n", were(n, "table"),
			shortList(result.Complete))
	}
	if n := len(result.LeftOut); n > 0 {
		fmt.Fprintf(w, "%s left out, as the server's own: %s\n", were(n, "table"), shortList(result.LeftOut))
	}
}

func shortList(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// were returns the beginning of a sentence about a number of things: "1 row was", "3 rows were".
func were[N int | int64 | uint64](n N, thing string) string {
	return words.Count(n, thing) + " " + words.Pick(n, "was", "were")
}
