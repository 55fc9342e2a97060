package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"cordwood/node/secret"
)

func newSecretCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "new-secret FILE",
		Short: "Create a secret for a cluster, in a file that only you may read",
		Long: `Create a secret for a cluster, in a file that only you may read. Give all nodes of the cluster a
copy with --cluster-secret-file: only nodes with the secret may join.

A second line in the file is also accepted, so that the secret of a running cluster can be changed:
see docs/cluster.md.`,
		Example: "  cordwood new-secret cluster-secret\n  cordwood serve --cluster-secret-file cluster-secret --seeds …",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[0]
			_, err := os.Lstat(file)
			switch {
			case err == nil && keep:
				if _, err := secret.Read(file); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s contains a secret; it is left unchanged\n", file)
				return nil
			case err == nil:
				return fmt.Errorf("%s exists: give another file, or use --keep to leave an existing secret unchanged", file)
			case !errors.Is(err, fs.ErrNotExist):
				return err
			}
			if err := secret.Make(file); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(),
				"wrote a new secret to %s: give all nodes of the cluster a copy, as --cluster-secret-file\n", file)
			return nil
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave an existing secret unchanged, for scripts that may run again")
	return cmd
}
