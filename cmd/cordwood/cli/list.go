package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"
)

// ListOutput adds the flag --output of commands that print a list.
func ListOutput(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "table", "`FORMAT`: table, json or yaml")
	// Check it before asking the server.
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains([]string{"table", "json", "yaml"}, *output) {
			return outputFault(*output)
		}
		return nil
	}
}

func outputFault(output string) error {
	return WrongUsage(fmt.Errorf("--output %s: use table, json or yaml", output))
}

// PrintList prints a list as JSON or YAML, or as the table that table writes.
func PrintList(w io.Writer, output string, list any, table func(w io.Writer)) error {
	switch output {
	case "table":
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		table(t)
		return t.Flush()
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(list)
	case "yaml":
		text, err := yaml.Marshal(list)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	return outputFault(output)
}
