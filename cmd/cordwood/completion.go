package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cordwood/cmd/cordwood/cli"
	"cordwood/proto/schema"
)

// lister lists the possible values at a position of a command with these preceding arguments.
type lister func(cmd *cobra.Command, args []string) []string

// flagListers list the values of flags, by the command and the name of the flag, or by the name
// alone.
var flagListers = map[string]lister{
	"db":                      ofServer(databaseNames),
	"table":                   ofServer(tableNames),
	"to-table":                ofServer(tableNames),
	"pipeline":                ofServer(pipelineNames),
	"replay-rejects to":       ofServer(pipelineNames),
	"ingest pipeline-version": versionsOfFlag,
	"get version":             versionsOfArgument,
	"rollback version":        versionsOfArgument,
	"pipeline delete version": versionsOfArgument,
	"dryrun version":          versionsOfArgument,
	"hint":                    words(settings(schema.HintNames())...),
	"recover group":           recoverable,
	"move from":               ofServer(nodeNames),
	"move to":                 ofServer(nodeNames),
	"table move to":           ofServer(shardNames),
	"consistency":             words("linear", "any"),
	"on-reject":               words("drop", "store"),
	"grant":                   words("environment", "network", "files"),
	"log-level":               words("debug", "info", "warn", "error"),
	"log-format":              words("text", "json"),
	"color":                   words("auto", "always", "never"),
	"roles":                   words("router", "meta", "shard"),
	"http-inflight-policy":    words("wait", "fail"),
}

// argumentListers list the arguments of commands, by their paths; the first list is for the first argument, and the
// last list for all further arguments.
var argumentListers = map[string][]lister{
	"admin log-level":    {words("debug", "info", "warn", "error"), words()},
	"cluster cancel":     {ofServer(operationNames(true)), words()},
	"cluster operations": {ofServer(operationNames(false)), words()},
	"cluster pause":      {words("rebalance"), words()},
	"cluster resume":     {words("rebalance"), words()},
	"pipeline delete":    {ofServer(storedNames), versionsOfArgument, words()},
	"pipeline diff":      {ofServer(storedNames), latestOrVersion, latestOrVersion},
	"pipeline rollback":  {ofServer(storedNames), versionsOfArgument, words()},
	"shard replicas":     {ofServer(shardNames), words("1", "3", "5", "7"), words()},
	"table set":          {ofServer(tableNames), words(settings(schema.TableOptionNames())...)},
	"table unset":        {ofServer(tableNames), words(schema.TableOptionNames()...)},
}

func words(list ...string) lister { return func(*cobra.Command, []string) []string { return list } }

func ofServer(names func(*cobra.Command) []string) lister {
	return func(cmd *cobra.Command, _ []string) []string { return names(cmd) }
}

// settings returns OPTION=VALUE for options with a few possible values, and OPTION= for the others.
func settings(options []string) []string {
	var list []string
	for _, option := range options {
		values := schema.OptionValues(option)
		for _, value := range values {
			list = append(list, option+"="+value)
		}
		if values == nil || option == schema.OptionPartitions {
			list = append(list, option+"=")
		}
	}
	return list
}

func versionsOfArgument(cmd *cobra.Command, args []string) []string {
	if len(args) == 0 {
		return nil
	}
	return versionsOf(cmd, args[0])
}

func versionsOfFlag(cmd *cobra.Command, _ []string) []string {
	return versionsOf(cmd, flagText(cmd, "pipeline"))
}

// latestOrVersion lists the values for 'pipeline diff'.
func latestOrVersion(cmd *cobra.Command, args []string) []string {
	return append([]string{"latest"}, versionsOfArgument(cmd, args)...)
}

// recoverable lists the groups that have a member in the data folder.
func recoverable(cmd *cobra.Command, _ []string) []string {
	list := []string{"all", "meta", "node"}
	shards, _ := filepath.Glob(filepath.Join(flagText(cmd, "data-dir"), "shards", "[0-9]*"))
	for _, folder := range shards {
		if name := filepath.Base(folder); strings.Trim(name, "0123456789") == "" {
			list = append(list, "shard/"+name)
		}
	}
	return list
}

func flagText(cmd *cobra.Command, name string) string {
	if f := cmd.Flag(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// completeArguments adds completion of arguments and flag values for the shell, whose scripts call a hidden command.
// The values are those in the help texts, and the names on the server that the flags select.
func completeArguments(root *cobra.Command) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
		if complete := argumentCompletion(cmd); complete != nil && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = complete
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
}

// completeFlag completes the values of a flag, if their possible values are known.
func completeFlag(cmd *cobra.Command, f *pflag.Flag) {
	list := flagListers[f.Name]
	for path := cmd.CommandPath(); path != ""; _, path, _ = strings.Cut(path, " ") {
		if l := flagListers[path+" "+f.Name]; l != nil {
			list = l
			break
		}
	}
	if list == nil {
		found := valuesInHelp(f)
		if found == nil {
			return
		}
		list = words(found...)
	}
	// An error means that the flag has a function already.
	_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, args []string,
		typed string,
	) ([]string, cobra.ShellCompDirective) {
		return offer(list(cmd, args), typed, cobra.ShellCompDirectiveNoFileComp)
	})
}

// offer returns the names with the typed prefix. After a name that ends in =, the shell adds no space, because the
// value follows.
func offer(names []string, typed string, how cobra.ShellCompDirective) ([]string, cobra.ShellCompDirective) {
	names = cli.Beginning(names, typed)
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "=") }) {
		how |= cobra.ShellCompDirectiveNoSpace
	}
	return names, how
}

// valuesInHelp returns the possible values of a flag: the words in its help for --output, --format
// and --kind, as in "FORMAT: table, json or yaml".
func valuesInHelp(f *pflag.Flag) []string {
	if f.Name != "output" && f.Name != "format" && f.Name != "kind" {
		return nil
	}
	_, text, ok := strings.Cut(f.Usage, ": ")
	if !ok {
		return nil
	}
	text, _, _ = strings.Cut(text, ";")
	text, _, _ = strings.Cut(text, " (")
	var list []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if word != "or" && word != "and" {
			list = append(list, word)
		}
	}
	return list
}

// argumentCompletion completes the arguments of a command by argumentListers, or else the first
// argument by the usage line.
func argumentCompletion(cmd *cobra.Command) cobra.CompletionFunc {
	_, line, _ := strings.Cut(cmd.Use, " ")
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	listers := argumentListers[path]
	if listers == nil {
		first := firstArgument(cmd, line)
		if first == nil {
			return nil
		}
		listers = []lister{first, words()}
	}
	how := cobra.ShellCompDirectiveNoFileComp
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		at, how := min(len(args), len(listers)-1), how
		if at > 0 && (strings.Contains(line, "FILE") || path == "pipeline diff") {
			how = cobra.ShellCompDirectiveDefault
		}
		return offer(listers[at](cmd, args), typed, how)
	}
}

// firstArgument lists the values of a command's first argument by its usage line.
func firstArgument(cmd *cobra.Command, line string) lister {
	fields := strings.Fields(strings.NewReplacer("(", "", ")", "", "[", "", "]", "", "|", "").Replace(line))
	if len(fields) == 0 {
		return nil
	}
	switch fields[0] {
	case "TABLE":
		return ofServer(tableNames)
	case "NODE":
		return ofServer(nodeNames)
	case "SHARD":
		return ofServer(shardNames)
	case "NAME":
		if p := cmd.Parent(); p != nil && p.Name() == "pipeline" && cmd.Name() != "put" {
			return ofServer(storedNames)
		}
	}
	return nil
}
