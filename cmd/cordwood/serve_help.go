package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cordwood/node/config"
)

// groupSettings makes the help of a command show its flags in groups.
func groupSettings(cmd *cobra.Command) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		sets := make([]*pflag.FlagSet, len(config.Groups)+1)
		for i := range sets {
			sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			i := config.GroupOf(f.Name)
			if i < 0 {
				i = len(config.Groups)
			}
			sets[i].AddFlag(f)
		})
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		for i, set := range sets {
			title := "Other flags"
			if i < len(config.Groups) {
				title = config.Groups[i].Title
			}
			if set.HasAvailableFlags() {
				fmt.Fprintf(&b, "\n%s:\n%s", title, set.FlagUsages())
			}
		}
		_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
		return err
	})
}
