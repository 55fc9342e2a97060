package backup

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/node/backup"
)

func newVerifyCommand() *cobra.Command {
	var repository repositoryFlags
	var transfer transferFlags
	var cfg backup.VerifyConfig
	cmd := &cobra.Command{
		Use:   "verify REPOSITORY",
		Short: "Read backups and check them for damage",
		Long: `Read every byte of the backups in a repository and compare it with its checksum. The exit status is
1 if a backup cannot be restored completely. Files that no backup needs, and files of other
programs, are listed but do not count as errors.

--quick compares only names and sizes. --deep also reads every row.`,
		Example: `  cordwood backup verify /mnt/backups
  cordwood backup verify s3://backups/cordwood --backup latest --deep`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := transfer.check(); err != nil {
				return err
			}
			if cfg.Quick && cfg.Deep {
				return cli.WrongUsage(errors.New("--quick and --deep exclude each other"))
			}
			ctx, stop := cli.Interruptible(cmd)
			defer stop()
			r, err := repository.open(ctx, args[0])
			if err != nil {
				return err
			}
			var p backup.Progress
			cfg.Parallel, cfg.Rate, cfg.Progress, cfg.TempDir = transfer.parallel, backup.NewLimiter(int64(transfer.rate)), &p,
				repository.tempDir
			done := showProgress(cmd.ErrOrStderr(), func() string {
				return fmt.Sprintf("verifying: %s of %s", cli.FormatSize(p.Bytes.Load()), cli.FormatSize(p.TotalBytes.Load()))
			})
			v, err := r.Verify(ctx, cfg)
			done()
			if err != nil {
				return err
			}
			if err := repository.print(cmd, v, func(w io.Writer) { printVerified(w, v, cfg.Quick) }); err != nil {
				return err
			}
			if v.Serious() {
				return errors.New("a backup is incomplete: " + mendBackup(args[0], v.Findings))
			}
			return nil
		},
	}
	repository.add(cmd)
	transfer.add(cmd)
	cmd.Flags().StringVar(&cfg.Backup, "backup", "", "verify only the backup with this `ID`; latest means the newest")
	cmd.Flags().BoolVar(&cfg.Quick, "quick", false, "compare only names and sizes")
	cmd.Flags().BoolVar(&cfg.Deep, "deep", false, "also read every row")
	return cmd
}

// mendBackup returns advice on how to complete a repository with data that the cluster still has.
func mendBackup(repository string, findings []backup.Finding) string {
	var damaged, manifests []string
	for _, f := range findings {
		id, isManifest := backup.ManifestOf(f.Object)
		switch {
		case f.Kind != backup.Damaged:
		case isManifest:
			manifests = append(manifests, id)
		default:
			damaged = append(damaged, f.Object)
		}
	}
	var steps []string
	if len(manifests) > 0 {
		steps = append(steps, fmt.Sprintf("give up the backups whose manifests are damaged ('cordwood backup delete %s %s')",
			repository, strings.Join(manifests[:min(len(manifests), 10)], " ")))
	}
	if len(damaged) > 0 {
		remove := "rm '" + filepath.Join(repository, damaged[0]) + "'"
		if strings.HasPrefix(repository, "s3://") {
			remove = "aws s3 rm '" + strings.TrimRight(repository, "/") + "/" + damaged[0] + "'"
		}
		which := "the damaged file"
		if len(damaged) > 1 {
			which = fmt.Sprintf("each of the %d damaged files", len(damaged))
		}
		steps = append(steps, fmt.Sprintf("remove %s (%s)", which, remove))
	}
	steps = append(steps,
		fmt.Sprintf("make a backup, which sends the missing data that the cluster still has ('cordwood backup %s')",
			repository))
	advice := strings.Join(steps, ", then ")
	if lost := incomplete(findings, manifests); len(lost) > 0 {
		advice += fmt.Sprintf("; data that is still missing after that is lost: other tables of these backups can be "+
			"restored, or give the backups up ('cordwood backup delete %s %s')", repository,
			strings.Join(lost[:min(len(lost), 10)], " "))
	}
	return advice
}

// incomplete returns the backups that lack files, except backups whose manifests are damaged.
func incomplete(findings []backup.Finding, manifests []string) (ids []string) {
	for _, f := range findings {
		for _, id := range f.Backups {
			if f.Serious() && !slices.Contains(manifests, id) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func printVerified(w io.Writer, v *backup.Verified, quick bool) {
	for _, f := range v.Findings {
		fmt.Fprintf(w, "%s: %s: %s", f.Kind, f.Object, f.Text)
		if len(f.Backups) > 0 {
			fmt.Fprintf(w, " (backups: %s)", strings.Join(f.Backups, ", "))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s, %s, %s read", cli.Count(len(v.Backups), "backup"), cli.Count(v.Objects, "file"),
		cli.FormatSize(v.Bytes))
	if v.Rows > 0 {
		fmt.Fprintf(w, ", %s", cli.Count(v.Rows, "row"))
	}
	switch {
	case v.Serious():
		fmt.Fprintln(w, ": NOT WHOLE")
	case quick:
		fmt.Fprintln(w, ": all exist and have the right sizes; their content was not read")
	default:
		fmt.Fprintln(w, ": sound")
	}
}
