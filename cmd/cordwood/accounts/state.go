package accounts

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
)

// statePath is the path of the description of all users and roles.
const statePath = "/v1/access/state"

func newAccessExport() *cobra.Command {
	cmd := newCommand("export", "Print all users, roles, grants and quotas as a file for 'access apply'",
		"  cordwood access export >access.yaml", cobra.NoArgs)
	cmd.Long = cmd.Short + `.

The file has no passwords and no tokens. Quotas are in it if you have the privilege MONITOR.`
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var answer struct {
			State map[string]any `json:"state"`
		}
		if err := ask(cmd, http.MethodGet, statePath, nil, &answer); err != nil {
			return err
		}
		e := yaml.NewEncoder(cmd.OutOrStdout())
		e.SetIndent(2)
		if err := e.Encode(answer.State); err != nil {
			return err
		}
		return e.Close()
	}
	return cmd
}

func newAccessDiff() *cobra.Command {
	cmd := newCommand("diff FILE", "Show the statements with which 'access apply' would make the cluster as a file says",
		"  cordwood access diff access.yaml", cobra.ExactArgs(1))
	cmd.Long = cmd.Short + `.

FILE may be - for standard input. The exit status is 1 if there are differences, as that of the command diff.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := readState(cmd, args[0])
		if err != nil {
			return err
		}
		plan, err := sendState(cmd, file, "dry_run", "true")
		if err != nil {
			return err
		}
		for _, sql := range plan {
			fmt.Fprintln(cmd.OutOrStdout(), sql+";")
		}
		if len(plan) > 0 {
			return cli.ExitWith(1)
		}
		return nil
	}
	return cmd
}

func newAccessApply() *cobra.Command {
	var drop bool
	cmd := newCommand("apply FILE", "Make users, roles, grants and quotas as a file says",
		"  cordwood access apply access.yaml\n  cordwood access apply --drop access.yaml", cobra.ExactArgs(1))
	cmd.Long = cmd.Short + `, and print the statements that were executed.

FILE has the form that 'cordwood access export' prints, and at most 1 MiB; - is standard input. A key of
users, roles and quotas that is missing changes nothing. Users and roles that the file does not have are dropped only
with --drop. Passwords do not change, and new users have none: set it by 'cordwood user password'.`
	cmd.Flags().BoolVar(&drop, "drop", false, "drop the users and roles that the file does not have")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := readState(cmd, args[0])
		if err != nil {
			return err
		}
		plan, err := sendState(cmd, file, "drop", strconv.FormatBool(drop))
		if err != nil {
			return err
		}
		for _, sql := range plan {
			fmt.Fprintln(cmd.OutOrStdout(), sql+";")
		}
		return nil
	}
	return cmd
}

// readState reads a file, or standard input for -.
func readState(cmd *cobra.Command, file string) ([]byte, error) {
	in := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	const most = 1 << 20 // of the server
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", file, err)
	case len(text) > most:
		return nil, fmt.Errorf("%s has more than %d bytes, which the server does not take", file, most)
	}
	return text, nil
}

// sendState sends a file with a parameter, and returns the statements that it needs.
func sendState(cmd *cobra.Command, file []byte, name, value string) ([]string, error) {
	var answer struct {
		Statements []string `json:"statements"`
	}
	r := client.Request{
		Method: http.MethodPut, Path: statePath, Reads: name == "dry_run", Body: file,
		Header: http.Header{"Content-Type": {"application/yaml"}}, Query: url.Values{name: {value}},
	}
	err := send(cmd, r, nil, &answer)
	return answer.Statements, err
}
