// Package accounts has the subcommands about users, roles, grants and tokens. Each of them runs an SQL statement.
package accounts

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/proto/rights"
)

// retryTime is the time for which a statement is retried.
const retryTime = 30 * time.Second

// newCommand returns a command that asks a server.
func newCommand(use, short, example string, args cobra.PositionalArgs) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Example: example, Args: args}
	cli.AddClientFlags(cmd)
	return cmd
}

// run runs a statement and calls fn with each row, a JSON object. A statement that changes something is not repeated
// if its outcome is unknown.
func run(cmd *cobra.Command, statement string, reads bool, fn func(row []byte) error) error {
	errOut := cmd.ErrOrStderr()
	c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(errOut, text) })
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	resp, err := c.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/sql", Query: url.Values{"format": {"ndjson"}},
		Header: http.Header{"Content-Type": {"application/sql"}}, Body: []byte(statement), Reads: reads, Within: retryTime,
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	cli.PrintWarnings(errOut, resp.Header)
	return cli.EachLine(resp.Body, fn)
}

// change runs a statement that returns no rows.
func change(cmd *cobra.Command, statement string) error {
	return run(cmd, statement, false, func([]byte) error { return nil })
}

// list returns a command that prints the rows of a statement.
func list(use, short, example, statement string, args cobra.PositionalArgs) *cobra.Command {
	var output, like string
	cmd := newCommand(use, short, example, args)
	cli.ListOutput(cmd, &output)
	cmd.Flags().StringVar(&like, "like", "", "list only names that match the `PATTERN` of LIKE")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		sql := statement
		if like != "" {
			sql += " LIKE " + cli.Literal(like)
		}
		return printRows(cmd, output, sql)
	}
	return cmd
}

// printRows prints the rows of a statement.
func printRows(cmd *cobra.Command, output, statement string) error {
	out := cmd.OutOrStdout()
	if output != "table" {
		var lines strings.Builder
		if err := run(cmd, statement, true, func(row []byte) error {
			lines.Write(row)
			lines.WriteByte('\n')
			return nil
		}); err != nil {
			return err
		}
		return cli.PrintRows(out, output, strings.NewReader(lines.String()))
	}
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	first := true
	err := run(cmd, statement, true, func(row []byte) error {
		columns, cells, err := cli.RowCells(row, "", func(s string) string { return cli.Dash(strings.TrimSpace(s)) })
		if err != nil {
			return err
		}
		if first {
			fmt.Fprintln(t, strings.ToUpper(strings.Join(columns, "\t")))
			first = false
		}
		_, err = fmt.Fprintln(t, strings.Join(cells, "\t"))
		return err
	})
	return errors.Join(err, t.Flush())
}

// secret runs a statement whose answer has a new token, and prints it.
func secret(cmd *cobra.Command, output, statement string) error {
	return run(cmd, statement, false, func(row []byte) error {
		var one struct {
			Name    string `json:"Name"`
			ID      string `json:"Id"`
			Token   string `json:"Token"`
			Expires string `json:"Expires"`
		}
		if err := json.Unmarshal(row, &one); err != nil {
			return fmt.Errorf("reading the server's answer: %w", err)
		}
		if output == "json" {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", row)
			return err
		}
		// The token alone goes to standard output, so that a script can store it.
		fmt.Fprintln(cmd.OutOrStdout(), one.Token)
		expires := "never expires"
		if one.Expires != "" {
			expires = "expires on " + one.Expires
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "This is the only time that the token %s is shown. It %s.\n", one.Name, expires)
		return nil
	})
}

// words joins arguments that are a part of a statement.
func words(args []string) string { return strings.Join(args, " ") }

// NewGrantCommand returns the command grant.
func NewGrantCommand() *cobra.Command {
	cmd := newCommand("grant PRIVILEGES ON TARGET TO NAME | grant ROLE TO NAME",
		"Grant privileges or roles to users and roles",
		"  cordwood grant 'SELECT ON app.*' TO ann\n  cordwood grant reader TO ann", cobra.MinimumNArgs(1))
	cmd.Long = `Grant privileges or roles to users and roles. The arguments are the statement GRANT of
'cordwood sql', without its first word. Write a * in quotes, because the shell replaces it.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return change(cmd, "GRANT "+words(args)) }
	return cmd
}

// NewRevokeCommand returns the command revoke.
func NewRevokeCommand() *cobra.Command {
	cmd := newCommand("revoke PRIVILEGES ON TARGET FROM NAME | revoke ROLE FROM NAME",
		"Revoke privileges or roles of users and roles",
		"  cordwood revoke 'SELECT ON app.*' FROM ann\n  cordwood revoke reader FROM ann", cobra.MinimumNArgs(1))
	cmd.Long = `Revoke privileges or roles of users and roles. The arguments are the statement REVOKE of
'cordwood sql', without its first word. Write a * in quotes, because the shell replaces it.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return change(cmd, "REVOKE "+words(args)) }
	return cmd
}

// NewGrantsCommand returns the command grants.
func NewGrantsCommand() *cobra.Command {
	var output string
	cmd := newCommand("grants [NAME]", "Show the grants of a user or role, or your own ones",
		"  cordwood grants\n  cordwood grants ann", cobra.MaximumNArgs(1))
	cli.ListOutput(cmd, &output)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sql := "SHOW GRANTS"
		if len(args) > 0 {
			sql += " FOR " + rights.QuoteName(args[0])
		}
		return printRows(cmd, output, sql)
	}
	return cmd
}

// NewRoleCommand returns the command role.
func NewRoleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "role", Short: "List, create and drop roles",
		Example: "  cordwood role create team\n  cordwood grant team TO ann",
		Args:    cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	create := newCommand("create NAME", "Create a role", "  cordwood role create team", cobra.ExactArgs(1))
	create.RunE = func(cmd *cobra.Command, args []string) error {
		return change(cmd, "CREATE ROLE "+rights.QuoteName(args[0]))
	}
	groups := newCommand("groups NAME [GROUP]...", "Set the groups of the OIDC provider whose members have the role",
		"  cordwood role groups team logs-team", cobra.MinimumNArgs(1))
	groups.Long = "Set the groups of the OIDC provider whose members have the role. They replace those that the role\n" +
		"has; without a group, nobody has the role by a group."
	groups.RunE = func(cmd *cobra.Command, args []string) error {
		sql := "ALTER ROLE " + rights.QuoteName(args[0])
		if len(args) == 1 {
			return change(cmd, sql+" UNSET GROUPS")
		}
		quoted := make([]string, len(args)-1)
		for i, g := range args[1:] {
			quoted[i] = rights.QuoteText(g)
		}
		return change(cmd, sql+" SET GROUPS ("+strings.Join(quoted, ", ")+")")
	}
	drop := newCommand("drop NAME", "Drop a role", "  cordwood role drop team", cobra.ExactArgs(1))
	drop.RunE = func(cmd *cobra.Command, args []string) error {
		return change(cmd, "DROP ROLE "+rights.QuoteName(args[0]))
	}
	cmd.AddCommand(list("list", "List the roles", "  cordwood role list", "SHOW ROLES", cobra.NoArgs), create, groups,
		drop)
	return cmd
}

// firstLine returns the first line of a file, or of standard input for -.
func firstLine(cmd *cobra.Command, file string) (string, error) {
	in := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	const most = 64 << 10
	line, err := bufio.NewReader(io.LimitReader(in, most)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
