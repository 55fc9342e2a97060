package accounts

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/proto/rights"
	"cordwood/router/access/token"
)

// NewTokenCommand returns the command token.
func NewTokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list, rotate and drop the tokens of programs",
		Long: `A token is the secret of a program, with rights of its own. Commands send a token with --token or
CORDWOOD_TOKEN, and other clients as docs/access.md describes.`,
		Example: "  cordwood token create web1 'INGEST INTO public.web*' --expires 90d\n  cordwood token list",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	drop := newCommand("drop NAME", "Revoke a token, and end what its program does", "  cordwood token drop web1",
		cobra.ExactArgs(1))
	drop.RunE = func(cmd *cobra.Command, args []string) error {
		return change(cmd, "DROP TOKEN "+rights.QuoteName(args[0]))
	}
	cmd.AddCommand(newTokenCreateCommand(), list("list", "List tokens, without their secrets", "  cordwood token list",
		"SHOW TOKENS", cobra.NoArgs), newTokenRotateCommand(), drop, newTokenInspectCommand())
	return cmd
}

// secretOutput adds the flag --output of commands that print a token.
func secretOutput(cmd *cobra.Command) *string {
	output := cmd.Flags().StringP("output", "o", "text", "`FORMAT`: text (the token alone) or json")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *output != "text" && *output != "json" {
			return cli.WrongUsage(fmt.Errorf("--output %s: use text or json", *output))
		}
		return nil
	}
	return output
}

func newTokenCreateCommand() *cobra.Command {
	var pipeline, expires, note string
	var from []string
	cmd := newCommand("create NAME SCOPE", "Create a token, and print it",
		"  cordwood token create web1 'INGEST INTO public.web*' --pipeline nginx --from 192.0.2.0/24\n"+
			"  cordwood token create grafana 'QUERY ON app.*'\n  cordwood token create mine 'USER ann' --expires 8h",
		cobra.MinimumNArgs(2))
	cmd.Long = `Create a token, and print it. Nobody can see it again.

SCOPE is INGEST INTO TARGET, QUERY ON TARGET, USER NAME, or PRIVILEGES ON TARGET, as in CREATE TOKEN.`
	output := secretOutput(cmd)
	cmd.Flags().StringVar(&pipeline, "pipeline", "", "the only `PIPELINE` of a scope INGEST INTO")
	cmd.Flags().StringVar(&expires, "expires", "365d", "`WHEN` it expires: a duration, a time such as "+
		"2027-01-31, or never")
	cmd.Flags().StringArrayVar(&from, "from", nil, "accept it only from the address `RANGE`; may be repeated")
	cmd.Flags().StringVar(&note, "note", "", "`TEXT` that lists show")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sql := "CREATE TOKEN " + rights.QuoteName(args[0]) + " FOR " + words(args[1:])
		if pipeline != "" {
			sql += " PIPELINE " + rights.QuoteName(pipeline)
		}
		for i, one := range from {
			sql += [2]string{" FROM ", ", "}[min(i, 1)] + cli.Literal(one)
		}
		sql += expiry(expires)
		if note != "" {
			sql += " NOTE " + cli.Literal(note)
		}
		return secret(cmd, *output, sql)
	}
	return cmd
}

// expiry returns the option for the value of --expires.
func expiry(text string) string {
	switch {
	case strings.EqualFold(text, "never"):
		return " EXPIRES NEVER"
	case strings.Contains(text, "-"):
		return " EXPIRES " + cli.Literal(text)
	}
	return " EXPIRES IN " + cli.Literal(text)
}

func newTokenRotateCommand() *cobra.Command {
	var overlap string
	cmd := newCommand("rotate NAME", "Give a token a new secret, and print it",
		"  cordwood token rotate web1 --overlap 1h", cobra.ExactArgs(1))
	output := secretOutput(cmd)
	cmd.Flags().StringVar(&overlap, "overlap", "24h", "`DURATION` for which the old secret is accepted, at most 30d")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return secret(cmd, *output, "ALTER TOKEN "+rights.QuoteName(args[0])+" ROTATE OVERLAP "+cli.Literal(overlap))
	}
	return cmd
}

func newTokenInspectCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Print the id of a token, and check its form",
		Long: `Print the id of a token, which SHOW TOKENS lists, and check that no character is missing or changed. The
token is read from the first line of standard input or of a file. No server is asked.`,
		Example: "  cordwood token inspect < token",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&file, "file", "-", "`FILE` with the token; - is standard input")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		text, err := firstLine(cmd, file)
		if err != nil {
			return err
		}
		id, ok := token.Parse(strings.TrimSpace(text))
		if !ok {
			return errors.New("this is not a token, or a character of it is missing or changed: a token has the form " +
				"cw_ID_SECRET and 50 characters")
		}
		fmt.Fprintf(cmd.OutOrStdout(), "id %s\nthe checksum is right\n", id)
		return nil
	}
	return cmd
}
