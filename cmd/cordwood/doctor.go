package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/node"
	"cordwood/node/config"
	"cordwood/node/doctor"
)

func newDoctorCommand() *cobra.Command {
	var cfg doctor.Config
	var file string
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check settings, machine, server and data, and advise what to change",
		Long: `Report problems of a node, and what to do about them. The command checks

  settings  as 'cordwood serve' would read them from the environment and --config: values,
            the files that they refer to, certificates, whether the ports are free
  machine   free disk space, time of a durable write, the clock, limits on open files
  server    if one is running: whether it is ready, its clock, whether the nodes of its
            cluster are reachable, shards without a leader
  data      if none is running: every byte of the data folder: the identity; every page and
            the digest of the metadata's database; all entries of logs; snapshots; manifests;
            every segment, by checksum and row by row; gaps between these; unknown files; whether
            object storage has the objects of the node's shards, with their sizes and checksums

If a server uses the data folder, the command sends requests to the address that the server recorded
there. With --server or CORDWOOD_SERVER, and without --config, --data-dir and --forget, it checks only
that server, and nothing of this machine. With one of these flags, CORDWOOD_SERVER is ignored.

Nothing is changed without --forget. --forget removes a damaged segment from the manifest, gives up
its rows for good, and moves the remains of the file to lost+found.

The exit status is 0 if everything is sound, 1 if something needs attention, 3 if data is damaged.`,
		Example: `  cordwood doctor
  cordwood doctor --server http://10.0.0.1:4000
  cordwood doctor --config /etc/cordwood.yaml
  cordwood doctor --data-dir /var/lib/cordwood --json | jq '.findings[]'
  cordwood doctor --data-dir /var/lib/cordwood --forget shards/1/segments/0000000000000007.parquet`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := doctorSettings(cmd, &cfg, file); err != nil {
				return err
			}
			if !quiet && isatty.IsTerminal(os.Stderr.Fd()) {
				cfg.Progress = progressLine(os.Stderr)
			}
			report, err := doctor.Run(cmd.Context(), cfg)
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
				return cli.ExitWith(status)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&cfg.DataDir, "data-dir", "",
		"data `FOLDER` of the node (default: as in the settings)")
	cmd.Flags().StringVar(&file, "config", os.Getenv(config.EnvName("config")),
		"YAML `FILE` of settings, as for 'cordwood serve'")
	cmd.Flags().StringArrayVar(&cfg.Forget, "forget", nil,
		"give up the rows of this damaged segment `FILE`, such as shards/1/segments/NAME.parquet; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "show no progress")
	return cmd
}

// doctorSettings reads the settings of the server, and determines its address.
func doctorSettings(cmd *cobra.Command, cfg *doctor.Config, file string) error {
	var settings config.Config
	fs := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	settings.Flags(fs)
	err := errors.Join(config.CheckEnvironment(os.Environ()), config.Load(fs, file, os.LookupEnv))
	if err == nil {
		err = settings.Validate()
	}
	if cfg.SettingsErr = err; err == nil {
		cfg.Settings = &settings
	}
	if cfg.DataDir == "" {
		cfg.DataDir = settings.DataDir
	}
	servers, err := cli.ServersOf(cmd)
	if err != nil {
		return err
	}
	user, err := cli.UserOf(cmd)
	if err != nil {
		return err
	}
	ofNode := cmd.Flags().Changed("config") || cmd.Flags().Changed("data-dir") || len(cfg.Forget) > 0
	named := cmd.Flags().Changed("server") || os.Getenv("CORDWOOD_SERVER") != ""
	cfg.ServerOnly = named && !ofNode
	// A server that is given only by the environment need not be the server of this folder.
	cfg.AskServer = cmd.Flags().Changed("server") || cfg.ServerOnly
	if !cfg.AskServer {
		servers = []string{cmp.Or(node.ServerOf(cfg.DataDir), settings.UserURL())}
	}
	c, err := client.New(client.Config{Servers: servers, User: user, UserAgent: "cordwood-cli", Attempts: 1})
	if err != nil {
		return cli.WrongUsage(err)
	}
	cfg.Server, cfg.Version = askedServer{c}, version().Version
	return nil
}

// askedServer adapts a client for the doctor.
type askedServer struct{ *client.Client }

func (s askedServer) Get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	return s.Do(ctx, client.Request{Method: http.MethodGet, Path: path, Query: query})
}

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
	var out strings.Builder
	for _, f := range r.Findings {
		where := f.Part
		if f.File != "" {
			where = f.File
		}
		fmt.Fprintf(&out, "%s: %s\n  %s\n", f.Severity, where, f.What)
		if f.Do != "" {
			fmt.Fprintf(&out, "  to do: %s\n", f.Do)
		}
	}
	for _, p := range r.Parts {
		fmt.Fprintf(&out, "%-9s %s", p.Name, p.Result)
		switch p.Name {
		case "server":
			fmt.Fprintf(&out, ": %s", r.Server)
			if r.Storage != nil {
				fmt.Fprintf(&out, "; object storage %s", r.Storage)
			}
		case "data":
			fmt.Fprintf(&out, ": %s, %s, %s read", r.DataDir, cli.Count(r.Files, "file"), cli.Count(r.Bytes, "byte"))
			if r.Objects > 0 {
				fmt.Fprintf(&out, "; %s in object storage", cli.Count(r.Objects, "object"))
			}
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}
