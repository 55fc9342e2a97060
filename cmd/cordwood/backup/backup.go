// Package backup has the subcommands backup and restore.
//
// They open the repository and the cluster of the flags (backup.go), show the progress
// (progress.go), and print the result; node/backup does the work.
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"gopkg.in/yaml.v3"

	"cordwood/cmd/cordwood/cli"
	"cordwood/node/backup"
	"cordwood/node/backup/store"
	"cordwood/node/config"
	"cordwood/proto/schema"
	"cordwood/proto/words"
)

const repositoryHelp = `A repository is a directory, such as ./backups, or s3://BUCKET/PREFIX. ` +
	`Credentials of a bucket come from
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the files of ~/.aws, or the
role of the machine; other services than Amazon's are named by --s3-endpoint.`

// NewCommand returns the command backup. Backups record the version of the program.
func NewCommand(version string) *cobra.Command {
	cmd := newCreateCommand(version)
	cmd.Use = "backup REPOSITORY"
	cmd.Short = "Back up a cluster; list, verify and remove backups"
	cmd.Long = `Back up a cluster while it works, to a directory or a bucket.

A backup has all databases, tables, pipelines, and all rows that were acknowledged before
it started. Only files that are not in the repository yet are sent, so a second backup is
quick, and one that broke off goes on where it was. 'cordwood restore' brings a backup
into another cluster, with any number of shards.

` + repositoryHelp
	cmd.Example = `  cordwood backup /mnt/backups
  cordwood backup s3://backups/cordwood --s3-endpoint https://s3.example.com --rate 50MiB
  cordwood backup list /mnt/backups
  cordwood backup verify /mnt/backups
  cordwood backup prune /mnt/backups --keep-last 7
  cordwood restore /mnt/backups --server http://127.0.0.1:4000`
	cmd.AddCommand(newCreateCommand(version), newListCommand(), newVerifyCommand(), newDeleteCommand(),
		newPruneCommand())
	return cmd
}

// repositoryFlags are the flags for the access to a repository, and for the output.
type repositoryFlags struct {
	s3      store.S3Config
	tempDir string
	output  string
	json    bool
}

func (f *repositoryFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	config.S3Flags(fs, &f.s3, "s3-")
	fs.StringVar(&f.tempDir, "temp-dir", "", "`FOLDER` for temporary files of transfers to or from a bucket (default: "+
		"the system's)")
	cli.ListOutput(cmd, &f.output)
	fs.BoolVar(&f.json, "json", false, "the same as --output json")
}

func (f *repositoryFlags) store(location string) (store.Store, error) {
	if f.output != "table" && f.output != "json" && f.output != "yaml" {
		return nil, cli.WrongUsage(fmt.Errorf("--output %s: use table, json or yaml", f.output))
	}
	st, err := store.Open(location, store.Config{S3: f.s3, TempDir: f.tempDir})
	if err != nil {
		return nil, cli.WrongUsage(err)
	}
	return st, nil
}

func (f *repositoryFlags) open(ctx context.Context, location string) (*backup.Repository, error) {
	st, err := f.store(location)
	if err != nil {
		return nil, err
	}
	return backup.Open(ctx, st)
}

func (f *repositoryFlags) print(cmd *cobra.Command, result any, table func(w io.Writer)) error {
	if f.json {
		f.output = "json"
	}
	if f.output == "yaml" { // with the keys of JSON
		b, err := json.Marshal(result)
		if err != nil {
			return err
		}
		result = nil
		if err := yaml.Unmarshal(b, &result); err != nil {
			return err
		}
	}
	return cli.PrintList(cmd.OutOrStdout(), f.output, result, table)
}

// transferFlags limit the speed of transfers.
type transferFlags struct {
	rate     config.ByteSize
	parallel int
}

func (f *transferFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(&f.rate, "rate", "maximum bytes read per second, such as 50MiB; 0 means no limit")
	cmd.Flags().IntVar(&f.parallel, "parallel", 4, "`NUMBER` of files that are transferred at the same time")
}

func (f *transferFlags) check() error {
	if f.parallel < 1 || f.parallel > 64 {
		return cli.WrongUsage(fmt.Errorf("--parallel %d: want 1 to 64", f.parallel))
	}
	return nil
}

// connect connects to the cluster of the flags.
func connect(ctx context.Context, cmd *cobra.Command) (*backup.Cluster, func(), error) {
	c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) })
	if err != nil {
		return nil, nil, err
	}
	conn, err := c.Tunnel(ctx)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := backup.Connect(ctx, backup.ClusterConfig{
		// The server forwards calls to the right node.
		Dial:   func(string) (grpc.ClientConnInterface, error) { return conn, nil },
		Logger: noteLogger(cmd.ErrOrStderr()),
	})
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return cluster, func() {
		cluster.Close()
		_ = conn.Close() // no call is running
	}, nil
}

// creation is a run of 'backup create'.
type creation struct {
	version    string // of this program
	repository repositoryFlags
	transfer   transferFlags
}

func newCreateCommand(version string) *cobra.Command {
	c := creation{version: version}
	cmd := &cobra.Command{
		Use:     "create REPOSITORY",
		Short:   "Back up a cluster: the same as 'cordwood backup REPOSITORY'",
		Example: "  cordwood backup create /mnt/backups --rate 50MiB",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if cmd.HasSubCommands() {
					return cmd.Help()
				}
				return cli.WrongUsage(errors.New("no repository is given: give a directory or s3://BUCKET/PREFIX"))
			}
			if cmd.HasSubCommands() {
				if err := checkRepositoryName(args[0]); err != nil {
					return err
				}
			}
			if err := c.transfer.check(); err != nil {
				return err
			}
			ctx, stop := cli.Interruptible(cmd)
			defer stop()
			return c.run(ctx, cmd, args[0])
		},
	}
	c.repository.add(cmd)
	c.transfer.add(cmd)
	return cmd
}

// checkRepositoryName returns an error for a word after 'cordwood backup' that is neither a path nor an existing
// repository, because it is probably a mistyped command.
func checkRepositoryName(name string) error {
	if strings.ContainsAny(name, "/\\.") {
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	return cli.WrongUsage(fmt.Errorf("%s is neither a folder nor a command: write ./%s for a new repository; "+
		"commands are create, list, verify, delete, prune", name, name))
}

// run backs up the cluster to the repository at location, and prints the result.
func (c *creation) run(ctx context.Context, cmd *cobra.Command, location string) error {
	st, err := c.repository.store(location)
	if err != nil {
		return err
	}
	cluster, disconnect, err := connect(ctx, cmd)
	if err != nil {
		return err
	}
	defer disconnect()
	r, err := backup.OpenOrCreate(ctx, st)
	if err != nil {
		return err
	}
	if r.Made() {
		fmt.Fprintf(cmd.ErrOrStderr(), "cordwood backup: there was no repository in %s: created a new one\n", r.Location())
	}
	var p backup.Progress
	stop := showProgress(cmd.ErrOrStderr(), func() string {
		return fmt.Sprintf("backing up: %s of %s, %d of %s", cli.FormatSize(p.Bytes.Load()),
			cli.FormatSize(p.TotalBytes.Load()), p.Segments.Load(), cli.Count(p.TotalSegments.Load(), "file"))
	})
	made, err := r.Create(ctx, backup.CreateConfig{
		Source: cluster, Version: c.version, Parallel: c.transfer.parallel,
		Rate: backup.NewLimiter(int64(c.transfer.rate)), Progress: &p,
		Logger: noteLogger(cmd.ErrOrStderr()),
	})
	stop()
	if err != nil {
		return err
	}
	err = c.repository.print(cmd, made, func(w io.Writer) {
		fmt.Fprintf(w, "backup %s: %s, %s in %s (%s); %s (%s) %s new; %.1f s\n", made.ID, cli.Count(made.Tables, "table"),
			cli.Count(made.Rows, "row"),
			cli.Count(made.Segments, "file"), cli.FormatSize(made.Bytes), cli.Count(made.NewSegments, "file"),
			cli.FormatSize(made.NewBytes), words.Pick(made.NewSegments, "was", "were"),
			made.Finished.Sub(made.Started).Seconds())
	})
	if err == nil && len(made.Damaged) > 0 {
		err = fmt.Errorf("the backup lacks rows that are damaged in the cluster: %s: "+
			"run 'cordwood doctor' on the nodes", shortList(made.Damaged))
	}
	return err
}

func newListCommand() *cobra.Command {
	var repository repositoryFlags
	cmd := &cobra.Command{
		Use:     "list REPOSITORY",
		Short:   "List the backups of a repository, the oldest first",
		Example: "  cordwood backup list /mnt/backups\n  cordwood backup list s3://backups/cordwood --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := repository.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			list, err := r.List(cmd.Context())
			if err != nil {
				return err
			}
			return repository.print(cmd, list, func(w io.Writer) {
				fmt.Fprintln(w, "ID\tSTARTED\tTOOK\tSHARDS\tTABLES\tROWS\tSIZE\tVERSION")
				for _, s := range list {
					if s.Fault != "" {
						fmt.Fprintf(w, "%s\tcannot be read: %s\n", s.ID, s.Fault)
						continue
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", s.ID, s.Started.Local().Format(time.DateTime),
						s.Finished.Sub(s.Started).Round(100*time.Millisecond), s.Shards, s.Tables, s.Rows,
						cli.FormatSize(s.Bytes), s.Version)
				}
			})
		},
	}
	repository.add(cmd)
	return cmd
}

func newDeleteCommand() *cobra.Command {
	var repository repositoryFlags
	cmd := &cobra.Command{
		Use:   "delete REPOSITORY ID…",
		Short: "Delete backups; 'prune' then frees their space",
		Example: `  cordwood backup delete /mnt/backups 20260704T020000123Z-k3v9xw
  cordwood backup prune /mnt/backups`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := repository.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := r.Delete(cmd.Context(), args[1:]...); err != nil {
				return err
			}
			return repository.print(cmd, map[string]any{"deleted": args[1:]}, func(w io.Writer) {
				fmt.Fprintf(w, "deleted %s; 'cordwood backup prune %s' frees their space\n", strings.Join(args[1:], ", "), args[0])
			})
		},
	}
	repository.add(cmd)
	return cmd
}

func newPruneCommand() *cobra.Command {
	var repository repositoryFlags
	var cfg backup.PruneConfig
	var within string
	cmd := &cobra.Command{
		Use:   "prune REPOSITORY",
		Short: "Remove files that no backup needs, and old backups",
		Long: `Remove files that no backup needs: files of deleted backups, and files of interrupted backups. With
--keep-last or --keep-within, older backups are deleted first. A backup that either flag keeps is
kept. While another process uses the repository, nothing is removed.`,
		Example: `  cordwood backup prune /mnt/backups --keep-last 7 --keep-within 30d
  cordwood backup prune /mnt/backups --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cfg.KeepLast < 0 {
				return cli.WrongUsage(fmt.Errorf("--keep-last %d: want a positive number", cfg.KeepLast))
			}
			if within != "" {
				ttl, err := schema.ParseTTL(within)
				if err != nil || ttl.D <= 0 {
					return cli.WrongUsage(fmt.Errorf("--keep-within %q: want a duration, such as 30d", within))
				}
				cfg.KeepWithin = ttl.D
			}
			ctx, stop := cli.Interruptible(cmd)
			defer stop()
			r, err := repository.open(ctx, args[0])
			if err != nil {
				return err
			}
			out, err := r.Prune(ctx, cfg)
			if err != nil {
				return err
			}
			return repository.print(cmd, out, func(w io.Writer) {
				verb := "removed"
				if cfg.DryRun {
					verb = "would remove"
				}
				fmt.Fprintf(w, "%s %s and %s, %s\n", verb, cli.Count(len(out.Backups), "backup"), cli.Count(out.Objects, "file"),
					cli.FormatSize(out.Bytes))
				for _, id := range out.Backups {
					fmt.Fprintf(w, "  %s\n", id)
				}
			})
		},
	}
	repository.add(cmd)
	cmd.Flags().IntVar(&cfg.KeepLast, "keep-last", 0, "keep the newest `N` backups, delete older ones")
	cmd.Flags().StringVar(&within, "keep-within", "",
		"keep backups that are younger than this `AGE`, such as 30d, delete older ones")
	cmd.Flags().BoolVar(&cfg.DryRun, "dry-run", false, "only print what would be removed")
	return cmd
}
