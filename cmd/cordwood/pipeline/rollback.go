package pipeline

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
)

func newRollbackCommand() *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:   "rollback NAME [VERSION]",
		Short: "Make an older version of a pipeline the newest again",
		Long: `Store the text of an older version of a pipeline again, as its newest version: VERSION, or by
default the version before the newest. No version is lost, so a rollback can be rolled back. The
text is checked as by 'cordwood pipeline put'.`,
		Example: `  cordwood pipeline rollback nginx
  cordwood pipeline rollback nginx '2024-07-04 08:31:00.987136'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && version != "" {
				return cli.WrongUsage(errors.New("the version is given as an argument and by --version: give it once"))
			}
			if len(args) == 2 {
				version = args[1]
			}
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			name := args[0]
			if version == "" {
				versions, err := a.versions(cmd.Context(), name)
				if err != nil {
					return err
				}
				if len(versions) < 2 {
					return fmt.Errorf("pipeline %s has only one version: there is no older one", name)
				}
				version = versions[len(versions)-2]
			}
			old, err := a.get(cmd.Context(), name, version)
			if err != nil {
				return err
			}
			p, err := a.put(cmd, name, []byte(old.Pipeline))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, version %s, with the text of version %s\n", p.Name,
				p.Version, old.Version)
			return err
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "`VERSION` to go back to; by default the one before the newest")
	return cmd
}
