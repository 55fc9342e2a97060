// Package pipeline has the subcommands for pipelines.
//
// pipeline.go stores, lists and deletes versions, diff.go compares them, and rollback.go stores an
// older one again. dryrun.go tries a pipeline on a few records, and trace.go prints the results.
// replay.go sends records again that a pipeline rejected.
package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/proto/nearest"
)

// NewCommand returns the command pipeline.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pipeline",
		Short: "Store, compare and try pipelines",
		Long: `Pipelines transform log records: a YAML document lists the processors that a record passes, and the
columns that it becomes. Every upload creates a version. Requests without a version use the newest.`,
		Example: `  cordwood pipeline dryrun --file nginx.yaml access.log
  cordwood pipeline put nginx nginx.yaml
  cordwood ingest --table access --pipeline nginx access.log`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newPutCommand(), newGetCommand(), newListCommand(), newVersionsCommand(),
		newDeleteCommand(), newDiffCommand(), newRollbackCommand(), newDryRunCommand(),
		newReplayCommand(),
	)
	return cmd
}

// api calls the server's API for pipelines.
type api struct {
	client *client.Client
}

func newAPI(cmd *cobra.Command) (*api, error) {
	errOut := cmd.ErrOrStderr()
	c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(errOut, text) })
	return &api{client: c}, err
}

// maxAnswer is the maximum size of an answer.
const maxAnswer = 256 << 20

// call sends a request and reads its answer into out.
func (a *api) call(ctx context.Context, r client.Request, out any) (http.Header, error) {
	resp, err := a.client.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return nil, fmt.Errorf("%s: reading the server's answer: %w", r.Path, err)
	}
	return resp.Header, nil
}

func pathOf(name string) string { return "/v1/pipelines/" + url.PathEscape(name) }

// versionQuery requests a version; "" and "latest" are the newest.
func versionQuery(version string) url.Values {
	if version == "" || version == "latest" {
		return nil
	}
	return url.Values{"version": {version}}
}

// storedVersion is one version of a pipeline.
type storedVersion struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Pipeline string `json:"pipeline"`
}

// requestOne returns the only element of the list in an answer.
func (a *api) requestOne(ctx context.Context, r client.Request) (storedVersion, []string, error) {
	var answer struct {
		Pipelines []storedVersion `json:"pipelines"`
		Warnings  []string        `json:"warnings"`
	}
	if _, err := a.call(ctx, r, &answer); err != nil {
		return storedVersion{}, nil, err
	}
	if len(answer.Pipelines) == 0 {
		return storedVersion{}, nil, errors.New("there is no such version: 'cordwood pipeline versions NAME' lists them")
	}
	return answer.Pipelines[0], answer.Warnings, nil
}

func (a *api) get(ctx context.Context, name, version string) (storedVersion, error) {
	p, _, err := a.requestOne(ctx, client.Request{
		Method: http.MethodGet, Path: pathOf(name), Query: versionQuery(version),
	})
	return p, err
}

// put stores a new version, and prints the server's warnings.
func (a *api) put(cmd *cobra.Command, name string, source []byte) (storedVersion, error) {
	p, warnings, err := a.requestOne(cmd.Context(), client.Request{
		Method: http.MethodPost, Path: pathOf(name), Body: source,
		Header: http.Header{"Content-Type": {"application/x-yaml"}},
	})
	for _, warning := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
	}
	if err != nil {
		err = cli.SeveralLines(err) // the error has excerpts of programs, and one mistake per line
	}
	return p, err
}

// readInput reads a small file, or standard input for "-".
func readInput(cmd *cobra.Command, file string, limit int64) ([]byte, error) {
	in, err := openInput(cmd, file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: more than %s", file, cli.FormatSize(limit))
	}
	return text, err
}

// openInput opens a file, or standard input for "-".
func openInput(cmd *cobra.Command, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	return os.Open(file)
}

// inputName returns a description of a file of readInput.
func inputName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return "file " + file
}

func newPutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "put NAME FILE",
		Short: "Store a pipeline as the newest version of its name",
		Long: `Store the YAML document in FILE, or on standard input for "-", as the newest version of the pipeline
NAME. The document is checked first. All its errors are listed, with line numbers.`,
		Example: `  cordwood pipeline put nginx nginx.yaml
  cordwood pipeline put nginx - < nginx.yaml`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			source, err := readInput(cmd, args[1], 1<<20)
			if err != nil {
				return err
			}
			if len(bytes.TrimSpace(source)) == 0 {
				return fmt.Errorf("%s is empty: a pipeline is a YAML document; docs/pipelines.md has examples",
					inputName(args[1]))
			}
			p, err := a.put(cmd, args[0], source)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s, version %s\n", p.Name, p.Version)
			return nil
		},
	}
}

func newGetCommand() *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Print a pipeline as it was stored",
		Example: `  cordwood pipeline get nginx > nginx.yaml
  cordwood pipeline get nginx --version '2024-07-04 08:31:00.987136'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			p, err := a.get(cmd.Context(), args[0], version)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), p.Pipeline)
			return err
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "`VERSION` to print; the newest by default")
	return cmd
}

// listedPipeline is a pipeline in a list.
type listedPipeline struct {
	Name     string `json:"name" yaml:"name"`
	Version  string `json:"version" yaml:"version"`
	Size     int    `json:"size" yaml:"size"`
	Versions []struct {
		Version string `json:"version" yaml:"version"`
		Size    int    `json:"size" yaml:"size"`
	} `json:"versions" yaml:"versions"`
}

func (a *api) list(ctx context.Context, name string) ([]listedPipeline, error) {
	r := client.Request{Method: http.MethodGet, Path: "/v1/pipelines"}
	if name != "" {
		r.Query = url.Values{"name": {name}}
	}
	var answer struct {
		Pipelines []listedPipeline `json:"pipelines"`
	}
	_, err := a.call(ctx, r, &answer)
	return answer.Pipelines, err
}

func newListCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the pipelines and their newest versions",
		Example: "  cordwood pipeline list\n  cordwood pipeline list --output json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			list, err := a.list(cmd.Context(), "")
			if err != nil {
				return err
			}
			if list == nil {
				list = []listedPipeline{}
			}
			return cli.PrintList(cmd.OutOrStdout(), output, list, func(w io.Writer) {
				fmt.Fprintln(w, "NAME\tNEWEST VERSION\tVERSIONS\tSIZE")
				for _, p := range list {
					fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", p.Name, p.Version, len(p.Versions), cli.FormatSize(int64(p.Size)))
				}
			})
		},
	}
	cli.ListOutput(cmd, &output)
	return cmd
}

func newVersionsCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "versions NAME",
		Short:   "List the versions of a pipeline, the newest first",
		Example: "  cordwood pipeline versions nginx",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			list, err := a.list(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return a.noPipeline(cmd.Context(), args[0])
			}
			return cli.PrintList(cmd.OutOrStdout(), output, list[0].Versions, func(w io.Writer) {
				fmt.Fprintln(w, "VERSION\tSIZE")
				for _, v := range list[0].Versions {
					fmt.Fprintf(w, "%s\t%s\n", v.Version, cli.FormatSize(int64(v.Size)))
				}
			})
		},
	}
	cli.ListOutput(cmd, &output)
	return cmd
}

func newDeleteCommand() *cobra.Command {
	var version string
	var all bool
	cmd := &cobra.Command{
		Use:   "delete NAME (VERSION | --all)",
		Short: "Delete a version of a pipeline, or all",
		Long: `Delete one version of a pipeline, or all. If the newest version is deleted, the one before it
becomes the newest. Tables stay unchanged.`,
		Example: `  cordwood pipeline delete nginx '2024-07-04 08:31:00.987136'
  cordwood pipeline delete nginx --all`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && version != "" {
				return cli.WrongUsage(errors.New("the version is given as an argument and by --version: give it once"))
			}
			if len(args) == 2 {
				version = args[1]
			}
			if version != "" && all {
				return cli.WrongUsage(errors.New("VERSION and --all exclude each other: give one of them"))
			}
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			versions := []string{version}
			if version == "" { // also without --all: report a missing pipeline first
				if versions, err = a.versions(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			if version == "" && !all {
				return cli.WrongUsage(fmt.Errorf("give VERSION or --all; %s has %s, the newest is %s",
					args[0], cli.Count(len(versions), "version"), versions[len(versions)-1]))
			}
			for _, v := range versions {
				p, _, err := a.requestOne(cmd.Context(), client.Request{
					Method: http.MethodDelete,
					Path:   pathOf(args[0]),
					Query:  url.Values{"version": {v}},
				})
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "deleted %s, version %s\n", p.Name, p.Version)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "`VERSION` to delete")
	cmd.Flags().BoolVar(&all, "all", false, "delete all versions, the oldest first")
	return cmd
}

// noPipeline returns the error for an unknown pipeline, with the most similar name.
func (a *api) noPipeline(ctx context.Context, name string) error {
	var names []string
	if list, err := a.list(ctx, ""); err == nil { // without the list, only the hint is missing
		for _, p := range list {
			names = append(names, p.Name)
		}
	}
	if like := nearest.DidYouMean(": ", name, names); like != "" {
		return fmt.Errorf("there is no pipeline %s%s", name, like)
	}
	return fmt.Errorf("there is no pipeline %s: 'cordwood pipeline list' lists them", name)
}

// versions lists the versions of a pipeline, the oldest first.
func (a *api) versions(ctx context.Context, name string) ([]string, error) {
	list, err := a.list(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, a.noPipeline(ctx, name)
	}
	var out []string
	for i := len(list[0].Versions) - 1; i >= 0; i-- {
		out = append(out, list[0].Versions[i].Version)
	}
	return out, nil
}
