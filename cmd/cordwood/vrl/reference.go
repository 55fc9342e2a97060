package vrl

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
)

// writeReference writes the reference of all functions as Markdown, group by group.
func writeReference(out io.Writer) error {
	w := bufio.NewWriter(out)
	groups := map[fn.Group][]*fn.Function{}
	for _, f := range vrl.Functions() {
		groups[f.Group] = append(groups[f.Group], f)
	}
	fmt.Fprint(w, "# VRL functions\n\nMade by `cordwood vrl help --markdown`. Every example is executed by a test.\n\n")
	for _, g := range fn.Groups {
		links := make([]string, len(groups[g]))
		for i, f := range groups[g] {
			links[i] = fmt.Sprintf("[`%s`](#%s)", f.Name, f.Name)
		}
		fmt.Fprintf(w, "* %s: %s\n", g, strings.Join(links, ", "))
	}
	for _, g := range fn.Groups {
		fmt.Fprintf(w, "\n## %s\n", g)
		for _, f := range groups[g] {
			referenceOf(w, f)
		}
	}
	return w.Flush()
}

// referenceOf writes the section of a function.
func referenceOf(w io.Writer, f *fn.Function) {
	fmt.Fprintf(w, "\n### %s\n\n```\n%s\n```\n\n%s\n", f.Name, f.Signature(), f.Doc)
	if len(f.Params) > 0 {
		fmt.Fprintln(w)
	}
	for _, p := range f.Params {
		fmt.Fprintf(w, "* `%s`: %s", p.Name, p.Doc)
		if p.Constant {
			fmt.Fprint(w, " Must be known when the program is compiled.")
		}
		fmt.Fprintln(w)
		for _, e := range p.Enum {
			fmt.Fprintf(w, "  * `%s`: %s\n", e.Value, e.Doc)
		}
	}
	if f.Closure != nil {
		fmt.Fprint(w, "\nThe closure gets ")
		for i, p := range f.Closure.Params {
			if i > 0 {
				fmt.Fprint(w, " and ")
			}
			fmt.Fprintf(w, "`%s`, %s", p.Value, p.Doc)
		}
		fmt.Fprintln(w, ".")
	}
	if !f.Returns.IsNever() {
		fmt.Fprintf(w, "\nResults in %s.\n", f.Returns)
	}
	if f.Needs != 0 {
		fmt.Fprintf(w, "\nSwitched off unless the host grants %s.\n", f.Needs)
	}
	if len(f.Errors) > 0 {
		fmt.Fprintf(w, "\nFails if %s.\n", strings.Join(f.Errors, "; "))
	}
	examplesOf(w, f)
}

// examplesOf writes the examples of a function, with their results.
func examplesOf(w io.Writer, f *fn.Function) {
	fmt.Fprint(w, "\n```coffee\n")
	for i, e := range f.Examples {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "# %s\n", e.Title)
		if e.Event != "" {
			fmt.Fprintf(w, "# event: %s\n", e.Event)
		}
		fmt.Fprintln(w, e.Source)
		switch {
		case e.Fails != "":
			fmt.Fprintf(w, "# fails: %s\n", e.Fails)
		case !e.Any:
			fmt.Fprintf(w, "# results in %s\n", e.Result)
		}
	}
	fmt.Fprint(w, "```\n")
}
