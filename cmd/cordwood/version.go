package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"cordwood/node"
)

// The linker sets these: see the Makefile.
var (
	buildVersion = "dev"
	buildCommit  = ""
	buildBranch  = ""
)

// version is what this binary was built from.
func version() node.Version {
	v := node.Version{Version: buildVersion, Commit: buildCommit, Branch: buildBranch, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok && v.Commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	return v
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  cordwood version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := version()
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "cordwood %s\ncommit   %s\nbranch   %s\nbuilt by %s %s/%s\n",
				v.Version, orUnknown(v.Commit), orUnknown(v.Branch), v.Go, runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
