package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/term"

	"cordwood/cmd/cordwood/accounts"
	"cordwood/node"
	"cordwood/router/access/scram"
)

// maxPassword is the maximum length of a password, in bytes.
const maxPassword = 1 << 10

func newUserCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "user",
		Short:   "List, create and drop users, set passwords, and print hashes for --user-file",
		Example: "  cordwood user create ann\n  cordwood user hash",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newUserHashCommand(), newResetAdminCommand())
	cmd.AddCommand(accounts.UserCommands(readPassword)...)
	return cmd
}

func newUserHashCommand() *cobra.Command {
	var useScram, useBcrypt bool
	cmd := &cobra.Command{
		Use:   "hash",
		Short: "Print the hash of a password for a line of --user-file",
		Long: `Print the hash of a password for a line of --user-file. The password is read from the terminal, or
from the first line of standard input.

The format is PostgreSQL's (SCRAM-SHA-256$…). Clients of HTTP and of PostgreSQL can sign in with it.
With --bcrypt it is a bcrypt hash, with which clients of PostgreSQL can sign in only over TLS.`,
		Example: "  echo \"ann:ro=$(cordwood user hash)\" >> users\n  cordwood serve --user-file users",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if useScram && useBcrypt {
				return errors.New("give --scram or --bcrypt, not both")
			}
			password, err := readPassword(cmd)
			if err != nil {
				return err
			}
			text, err := hashed(password, useBcrypt)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), text)
			return nil
		},
	}
	cmd.Flags().BoolVar(&useScram, "scram", false, "print keys of SCRAM-SHA-256, which is the default")
	cmd.Flags().BoolVar(&useBcrypt, "bcrypt", false, "print a bcrypt hash")
	return cmd
}

func newResetAdminCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "reset-admin NAME",
		Short: "Make a user an administrator with a new password, if no administrator can sign in",
		Long: `Make a user an administrator with a new password, if no administrator can sign in.

The command runs on the machine of a running router, as the user that runs the router, and needs no password: the
router listens on the socket admin.sock in its data folder. It creates the user, or enables it, sets the password and
grants the role admin. The password is read from the terminal, or from the first line of standard input.`,
		Example: "  cordwood user reset-admin boss --data-dir /var/lib/cordwood",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			password, err := readPassword(cmd)
			if err != nil {
				return err
			}
			keys, err := scram.ForUser(password)
			if err != nil {
				return err
			}
			if err := node.ResetAdmin(cmd.Context(), dir, args[0], keys.String()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is an administrator\n", args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "data `FOLDER` of the router")
	_ = cmd.MarkFlagRequired("data-dir") // the flag exists
	return cmd
}

// hashed returns the hash of a password in the format of the list of users.
func hashed(password string, useBcrypt bool) (string, error) {
	if !useBcrypt {
		keys, err := scram.New(password, scram.Iterations)
		return keys.String(), err
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	if errors.Is(err, bcrypt.ErrPasswordTooLong) {
		err = errors.New("the password is too long for bcrypt, which takes 72 bytes; use --scram")
	}
	return string(hash), err
}

// readPassword reads a password from the terminal, where it is not shown, or the first line of standard input.
func readPassword(cmd *cobra.Command) (string, error) {
	if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		fmt.Fprint(cmd.ErrOrStderr(), "password: ")
		password, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return checkPassword(string(password))
	}
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), maxPassword+2)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return checkPassword(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
}

func checkPassword(password string) (string, error) {
	switch {
	case password == "":
		return "", errors.New("there is no password: write it to standard input, or run the command at a terminal")
	case len(password) > maxPassword:
		return "", errors.New("the password is longer than 1 KiB")
	}
	return password, nil
}
