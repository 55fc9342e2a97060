package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"cordwood/node/doctor"
)

func newDoctorCommand() *cobra.Command {
	var cfg doctor.Config
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Read every byte of a stopped server's data folder and say what is wrong",
		Long: `Read every byte of a stopped server's data folder and say what is wrong with it, and
what to do.

It checks the identity; the metadata's database, page by page and by its digest; logs,
entry by entry; snapshots; manifests; every segment, by checksum and row by row; how they
continue each other; and files that nothing explains. It also looks at the room on the
disk and at the limits of the process.

Nothing is changed, unless --forget is given: it takes a damaged segment out of the
manifest, gives up its rows for good, and moves what is left of the file to lost+found.

Status: 0 everything is sound, 1 somebody should look, 2 something is damaged.`,
		Example: `  cordwood doctor --data-dir /var/lib/cordwood
  cordwood doctor --data-dir /var/lib/cordwood --json | jq '.findings[]'
  cordwood doctor --data-dir /var/lib/cordwood --forget shards/1/segments/0000000000000007.parquet`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !quiet && isatty.IsTerminal(os.Stderr.Fd()) {
				cfg.Progress = progressLine(os.Stderr)
			}
			report, err := doctor.Run(cfg)
			if cfg.Progress != nil {
				fmt.Fprint(os.Stderr, "\r\033[K")
			}
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				err = enc.Encode(report)
			} else {
				err = printReport(cmd.OutOrStdout(), report)
			}
			if status := report.Status(); err == nil && status != 0 {
				return statusError{status}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&cfg.DataDir, "data-dir", "./cordwood-data", "folder of everything that the node keeps")
	cmd.Flags().StringArrayVar(&cfg.Forget, "forget", nil, "give up the rows of this damaged segment `FILE`, as shards/1/segments/NAME.parquet; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "show no progress")
	return cmd
}

// statusError ends the program with a status, and says nothing more.
type statusError struct{ status int }

func (e statusError) Error() string { return "status " + strconv.Itoa(e.status) }

func progressLine(w io.Writer) func(string, int64, int64) {
	last := int64(-1)
	return func(file string, done, total int64) {
		if percent := 100 * done / max(total, 1); percent != last {
			last = percent
			fmt.Fprintf(w, "\r\033[K%3d %% of %d MiB  %.60s", percent, total>>20, file)
		}
	}
}

func printReport(w io.Writer, r *doctor.Report) error {
	for _, f := range r.Findings {
		file := f.File
		if file == "" {
			file = "this machine"
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n  %s\n", f.Severity, file, f.What); err != nil {
			return err
		}
		if f.Do != "" {
			if _, err := fmt.Fprintf(w, "  to do: %s\n", f.Do); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%s: %s, %d files, %d bytes read\n", r.DataDir, r.Result, r.Files, r.Bytes)
	return err
}
