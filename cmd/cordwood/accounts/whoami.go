package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
)

// ask sends a request that changes nothing, and decodes the answer.
func ask(cmd *cobra.Command, method, path string, body, answer any) error {
	return send(cmd, client.Request{Method: method, Path: path, Reads: true}, body, answer)
}

// send sends a request with a body of JSON, which may be nil, and decodes the answer. A request that changes something
// is not repeated if its outcome is unknown.
func send(cmd *cobra.Command, r client.Request, body, answer any) error {
	errOut := cmd.ErrOrStderr()
	c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(errOut, text) })
	if err != nil {
		return err
	}
	r.Within = retryTime
	if body != nil {
		if r.Body, err = json.Marshal(body); err != nil {
			return err
		}
		r.Header = http.Header{"Content-Type": {"application/json"}}
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	resp, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("reading the server's answer: %w", err)
	}
	return nil
}

// sender is the answer of the server about the sender of a request.
type sender struct {
	User       string   `json:"user" yaml:"user"`
	Auth       string   `json:"auth" yaml:"auth"`
	Token      string   `json:"token" yaml:"token"`
	IngestOnly bool     `json:"ingest_only" yaml:"ingest_only"`
	Grants     []string `json:"grants" yaml:"grants"`
	Database   string   `json:"database" yaml:"database"`
	Table      string   `json:"table" yaml:"table"`
	Pipeline   string   `json:"pipeline" yaml:"pipeline"`
}

// NewWhoamiCommand returns the command whoami.
func NewWhoamiCommand() *cobra.Command {
	var output string
	cmd := newCommand("whoami", "Show the user or token that this command sends, and its rights",
		"  cordwood whoami\n  CORDWOOD_TOKEN=$(cat token) cordwood whoami", cobra.NoArgs)
	cli.ListOutput(cmd, &output)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var s sender
		if err := ask(cmd, http.MethodGet, "/v1/access/whoami", nil, &s); err != nil {
			return err
		}
		return cli.PrintList(cmd.OutOrStdout(), output, s, func(w io.Writer) {
			fmt.Fprintf(w, "user\t%s\nauthenticated by\t%s\n", s.User, s.Auth)
			if s.IngestOnly {
				fmt.Fprintln(w, "may only\tingest")
			}
			for _, g := range s.Grants {
				fmt.Fprintf(w, "grant\t%s\n", g)
			}
			fmt.Fprintf(w, "default database\t%s\n", s.Database)
			if s.Table != "" {
				fmt.Fprintf(w, "default table\t%s\n", s.Table)
			}
			if s.Pipeline != "" {
				fmt.Fprintf(w, "default pipeline\t%s\n", s.Pipeline)
			}
		})
	}
	return cmd
}

// NewAccessCommand returns the command access.
func NewAccessCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "access", Short: "Check rights, and keep users, roles, grants and quotas in a file",
		Example: "  cordwood access check SELECT app.web\n  cordwood access diff access.yaml", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	check := newCommand("check PRIVILEGE OBJECT",
		"Check whether the user or token that this command sends has a privilege",
		"  cordwood access check SELECT app.web\n  cordwood access check USE 'PIPELINE nginx'", cobra.ExactArgs(2))
	check.Long = `Check whether the user or token that this command sends has a privilege. OBJECT is a table,
'DATABASE name', 'PIPELINE name' or CLUSTER, as in GRANT. The exit status is 1 if the privilege is missing.`
	check.RunE = func(cmd *cobra.Command, args []string) error {
		type question struct {
			Privilege string `json:"privilege"`
			Object    string `json:"object"`
		}
		var answer struct {
			Allowed []bool `json:"allowed"`
		}
		asked := []question{{args[0], args[1]}}
		if err := ask(cmd, http.MethodPost, "/v1/access/check", asked, &answer); err != nil {
			return err
		}
		if len(answer.Allowed) != 1 {
			return errors.New("the server did not answer the question")
		}
		text := "yes"
		if !answer.Allowed[0] {
			text = "no"
		}
		fmt.Fprintln(cmd.OutOrStdout(), text)
		if !answer.Allowed[0] {
			return cli.ExitWith(1)
		}
		return nil
	}
	cmd.AddCommand(check, newAccessExport(), newAccessDiff(), newAccessApply())
	return cmd
}
