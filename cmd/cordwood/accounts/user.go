package accounts

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/proto/rights"
	"cordwood/router/access/scram"
)

// ReadPassword reads a password from the terminal or standard input.
type ReadPassword = func(cmd *cobra.Command) (string, error)

// UserCommands returns the commands below user that ask a server.
func UserCommands(read ReadPassword) []*cobra.Command {
	named := func(use, short, statement string) *cobra.Command {
		verb, _, _ := strings.Cut(use, " ")
		cmd := newCommand(use, short, "  cordwood user "+verb+" ann", cobra.ExactArgs(1))
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			return change(cmd, strings.ReplaceAll(statement, "NAME", rights.QuoteName(args[0])))
		}
		return cmd
	}
	return []*cobra.Command{
		list("list", "List the users of the cluster", "  cordwood user list", "SHOW USERS", cobra.NoArgs),
		newUserCreateCommand(read), newUserPasswordCommand(read), newUserBootstrapCommand(read),
		named("disable NAME", "Prevent a user from signing in, and end the user's work", "ALTER USER NAME DISABLED"),
		named("enable NAME", "Allow a user to sign in again", "ALTER USER NAME ENABLED"),
		named("drop NAME", "Drop a user with the user's tokens, and end the user's work", "DROP USER NAME"),
	}
}

// passwordFlag adds the flag for a file with a password, and returns a function that reads the password and returns
// its verifier, so that the password itself is not sent.
func passwordFlag(cmd *cobra.Command, read ReadPassword) func() (string, error) {
	var file string
	cmd.Flags().StringVar(&file, "password-file", "", "read the password from the first line of `FILE`; - is "+
		"standard input")
	return func() (string, error) {
		var password string
		var err error
		if file != "" {
			password, err = firstLine(cmd, file)
		} else {
			password, err = read(cmd)
		}
		if err != nil {
			return "", err
		}
		keys, err := scram.ForUser(password)
		if err != nil {
			return "", err
		}
		return keys.String(), nil
	}
}

func newUserCreateCommand(read ReadPassword) *cobra.Command {
	var none, disabled bool
	var until string
	cmd := newCommand("create NAME", "Create a user", "  cordwood user create ann\n"+
		"  cordwood user create ship --no-password && cordwood token create ship1 'USER ship'", cobra.ExactArgs(1))
	cmd.Long = `Create a user. The password is read from the terminal, or from the first line of standard input. It
has at least 12 bytes. It does not leave this machine: the server gets a verifier of it.

A new user may sign in and nothing else: 'cordwood grant' gives rights.`
	password := passwordFlag(cmd, read)
	cmd.Flags().BoolVar(&none, "no-password", false, "create a user who can only use tokens")
	cmd.Flags().BoolVar(&disabled, "disabled", false, "create a user who cannot sign in yet")
	cmd.Flags().StringVar(&until, "valid-until", "", "the user cannot sign in from `TIME` on, such as 2027-01-31")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sql := "CREATE USER " + rights.QuoteName(args[0])
		switch {
		case none && cmd.Flags().Changed("password-file"):
			return cli.WrongUsage(errors.New("give --no-password or --password-file, not both"))
		case !none:
			verifier, err := password()
			if err != nil {
				return err
			}
			sql += " PASSWORD " + cli.Literal(verifier)
		}
		if until != "" {
			sql += " VALID UNTIL " + cli.Literal(until)
		}
		if disabled {
			sql += " DISABLED"
		}
		return change(cmd, sql)
	}
	return cmd
}

func newUserPasswordCommand(read ReadPassword) *cobra.Command {
	cmd := newCommand("password NAME", "Set the password of a user, and end what the user does with the old one",
		"  cordwood user password ann", cobra.ExactArgs(1))
	cmd.Long = `Set the password of a user. The new one is read from the terminal, or from the first line of standard
input. It does not leave this machine: the server gets a verifier of it.

You can set your own password without the right to manage users. The present one is taken from --user.`
	password := passwordFlag(cmd, read)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		verifier, err := password()
		if err != nil {
			return err
		}
		user, err := cli.UserOf(cmd)
		if err != nil {
			return err
		}
		if name, old, _ := strings.Cut(user, ":"); name == args[0] {
			return change(cmd, "ALTER USER CURRENT_USER PASSWORD "+cli.Literal(verifier)+" OLD "+cli.Literal(old))
		}
		return change(cmd, "ALTER USER "+rights.QuoteName(args[0])+" PASSWORD "+cli.Literal(verifier))
	}
	return cmd
}

func newUserBootstrapCommand(read ReadPassword) *cobra.Command {
	var file string
	cmd := newCommand("bootstrap NAME", "Create the first administrator of a cluster",
		"  cordwood user bootstrap boss --bootstrap-token-file /var/lib/cordwood/bootstrap-token", cobra.ExactArgs(1))
	cmd.Long = `Create the first administrator of a cluster whose users authenticate (--auth=on).

While a cluster has no administrator, each router writes a token to the file bootstrap-token in its data folder when it
starts. Whoever has the token can create the first administrator, within 24 hours. The password is read from the
terminal, or from the first line of standard input. It does not leave this machine: the server gets a verifier of it.`
	password := passwordFlag(cmd, read)
	cmd.Flags().StringVar(&file, "bootstrap-token-file", "", "`FILE` with the token; - is standard input")
	_ = cmd.MarkFlagRequired("bootstrap-token-file") // the flag exists
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		secret, err := firstLine(cmd, file)
		if err != nil {
			return err
		}
		verifier, err := password()
		if err != nil {
			return err
		}
		body := map[string]string{"token": secret, "name": args[0], "password": verifier}
		var answer struct{}
		r := client.Request{Method: http.MethodPost, Path: "/v1/access/bootstrap"}
		if err := send(cmd, r, body, &answer); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is an administrator\n", args[0])
		return nil
	}
	return cmd
}
