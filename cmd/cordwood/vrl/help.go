package vrl

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/vrl"
	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

func newHelpCommand() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:     "help [FUNCTION]",
		Short:   "List the functions of the language, or describe one",
		Example: "  cordwood vrl help\n  cordwood vrl help parse_json\n  cordwood vrl help --markdown > functions.md",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, f := range vrl.Functions() {
				names = append(names, f.Name)
			}
			return cli.Beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case markdown:
				return writeReference(cmd.OutOrStdout())
			case len(args) == 0:
				listFunctions(cmd.OutOrStdout())
				return nil
			}
			f, ok := vrl.Function(args[0])
			if !ok {
				err := fmt.Errorf("there is no function %s", args[0])
				if best, ok := nearestFunction(args[0]); ok {
					err = fmt.Errorf("there is no function %s; did you mean %s?", args[0], best)
				}
				return err
			}
			describeFunction(cmd.OutOrStdout(), f)
			return nil
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print the reference of all functions as Markdown")
	return cmd
}

func nearestFunction(name string) (string, bool) {
	return diag.Nearest(name, func(yield func(string) bool) {
		for _, f := range vrl.Functions() {
			if !yield(f.Name) {
				return
			}
		}
	})
}

func listFunctions(w io.Writer) {
	groups := map[fn.Group][]string{}
	for _, f := range vrl.Functions() {
		groups[f.Group] = append(groups[f.Group], f.Name)
	}
	for _, g := range fn.Groups {
		if len(groups[g]) > 0 {
			fmt.Fprintf(w, "%s\n  %s\n", g, wrap(strings.Join(groups[g], " "), 2))
		}
	}
	fmt.Fprintln(w, "\nDescribe one: cordwood vrl help FUNCTION")
}

func describeFunction(w io.Writer, f *fn.Function) {
	fmt.Fprintf(w, "%s\n\n%s\n", f.Signature(), wrap(f.Doc, 0))
	if len(f.Params) > 0 {
		fmt.Fprintln(w, "\nParameters")
		for _, p := range f.Params {
			fmt.Fprintf(w, "  %s\n    %s\n", p.Name, wrap(p.Doc, 4))
			for _, e := range p.Enum {
				fmt.Fprintf(w, "      %s: %s\n", e.Value, wrap(e.Doc, 8))
			}
		}
	}
	if f.Closure != nil {
		fmt.Fprintln(w, "\nThe closure gets")
		for _, p := range f.Closure.Params {
			fmt.Fprintf(w, "  %s: %s\n", p.Value, p.Doc)
		}
	}
	if !f.Returns.IsNever() {
		fmt.Fprintf(w, "\nResults in %s.\n", f.Returns)
	}
	if f.Needs != 0 {
		fmt.Fprintf(w, "\nIt is switched off unless the host grants %s.\n", f.Needs)
	}
	if len(f.Errors) > 0 {
		fmt.Fprintln(w, "\nFails if")
		for _, e := range f.Errors {
			fmt.Fprintf(w, "  - %s\n", wrap(e, 4))
		}
	}
	fmt.Fprintln(w, "\nExamples")
	for _, e := range f.Examples {
		fmt.Fprintf(w, "  # %s\n", e.Title)
		if e.Event != "" {
			fmt.Fprintf(w, "  # event: %s\n", e.Event)
		}
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(e.Source, "\n", "\n  "))
		switch {
		case e.Fails != "":
			fmt.Fprintf(w, "  # fails: %s\n\n", e.Fails)
		case e.Any:
			fmt.Fprintf(w, "  # differs each time\n\n")
		default:
			fmt.Fprintf(w, "  # %s\n\n", e.Result)
		}
	}
}

// wrap breaks a text into lines of about 90 characters, all but the first indented.
func wrap(s string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(s) {
		if n := len(word) + 1; i > 0 && column+n > 90 {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		} else if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		column += len(word) + 1
	}
	return b.String()
}

// valueText returns a value as the prompt prints it.
func valueText(v value.Value) string { return string(value.AppendPrettyJSON(nil, v)) }
