package main

import (
	"encoding/json"
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
	buildDate    = ""
)

// version returns the version and the origin of this binary.
func version() node.Version {
	v := node.Version{
		Version: buildVersion,
		Commit:  buildCommit,
		Branch:  buildBranch,
		Date:    buildDate,
		Go:      runtime.Version(),
	}
	if info, ok := debug.ReadBuildInfo(); ok && v.Commit == "" {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.time":
				v.Date = s.Value
			}
		}
	}
	return v
}

func newVersionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program, and its commit",
		Example: `  cordwood --version
  cordwood version
  cordwood version --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := version()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
					Version string `json:"version"`
					Commit  string `json:"commit"`
					Date    string `json:"date"`
					Branch  string `json:"branch"`
					Go      string `json:"go_version"`
					OS      string `json:"os"`
					Arch    string `json:"arch"`
				}{v.Version, v.Commit, v.Date, v.Branch, v.Go, runtime.GOOS, runtime.GOARCH})
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), versionText(v))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the version as a JSON object")
	return cmd
}

// versionText returns what --version prints.
func versionText(v node.Version) string {
	branch := ""
	if v.Branch != "" { // releases have no branch, because they are built from a commit
		branch = "branch   " + v.Branch + "\n"
	}
	return fmt.Sprintf("cordwood %s\ncommit   %s\ndate     %s\n%sbuilt by %s %s/%s\n",
		v.Version, orUnknown(v.Commit), orUnknown(v.Date), branch, v.Go, runtime.GOOS, runtime.GOARCH)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
