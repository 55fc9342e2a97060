package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cordwood/node/config"
	"cordwood/proto/nearest"
)

// Describe returns the message of a command that failed: one line, except for an error of
// SeveralLines, and where to find help if the command was called wrongly.
func Describe(cmd *cobra.Command, err error) string {
	if lines := (linesError{}); errors.As(err, &lines) {
		return cmd.CommandPath() + ": " + err.Error()
	}
	text := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	if u := (usageError{}); errors.As(err, &u) {
		text += fmt.Sprintf(" (see '%s --help')", cmd.CommandPath())
	}
	return cmd.CommandPath() + ": " + text
}

// SetErrors gives a command and all commands below it cordwood's errors for wrong arguments. Call it once, after all
// commands are added.
func SetErrors(cmd *cobra.Command) {
	switch {
	case cmd.Name() == "completion" && cmd.HasSubCommands():
		// cobra would print its help and succeed with any argument.
		cmd.Args, cmd.Example = cobra.NoArgs,
			"  source <(cordwood completion bash)\n  cordwood completion zsh > ~/.zfunc/_cordwood"
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	case cmd.Name() == "help" && cmd.Parent() == cmd.Root():
		cmd.Run, cmd.PersistentPreRun, cmd.PersistentPostRun = nil, nil, nil
		cmd.Args, cmd.RunE = cobra.ArbitraryArgs, helpFor
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, args) == nil {
				return nil
			}
			return WrongUsage(argumentFault(cmd, args))
		}
	}
	for _, c := range cmd.Commands() {
		SetErrors(c)
	}
}

// helpFor runs 'cordwood help COMMAND'.
func helpFor(cmd *cobra.Command, args []string) error {
	c, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 && c.HasAvailableSubCommands() {
		return WrongUsage(argumentFault(c, rest))
	}
	c.InitDefaultHelpFlag()
	return c.Help()
}

// RefuseUnknownHelp suppresses the help for --help after a command that does not exist, as in 'shard new --help', for
// which cobra would print the help of 'shard'. In that case it sets the error to which it returns a pointer.
func RefuseUnknownHelp(root *cobra.Command) *error {
	wrong := new(error)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		_, _, takesAny := strings.Cut(cmd.Use, " ")
		if rest := cmd.Flags().Args(); len(rest) > 0 && !takesAny && cmd.HasAvailableSubCommands() {
			*wrong = WrongUsage(unknownCommand(cmd, rest[0]))
			return
		}
		help(cmd, args)
	})
	return wrong
}

// argumentFault returns the error of a command's arguments, if they are wrong.
func argumentFault(cmd *cobra.Command, args []string) error {
	_, arguments, takesAny := strings.Cut(cmd.Use, " ")
	switch {
	case cmd.HasAvailableSubCommands() && len(args) > 0 && !takesAny:
		return unknownCommand(cmd, args[0])
	case cmd.HasAvailableSubCommands() && len(args) > 1 && !strings.ContainsAny(args[0], `/\.`):
		return unknownCommand(cmd, args[0])
	case !takesAny && len(args) > 0:
		return fmt.Errorf("%q is too many: this command takes no arguments", args[0])
	case len(args) == 0:
		return fmt.Errorf("want %s, got nothing", arguments)
	}
	quote := ""
	if arguments == "[STATEMENT]" {
		quote = "; put the statement in quotes, as in 'cordwood sql \"SELECT 1\"'"
	}
	return fmt.Errorf("want %s, got %s%s", arguments, Count(len(args), "argument"), quote)
}

// otherCommands maps names of commands in other programs to cordwood's. A name has several if groups have different
// ones.
var otherCommands = map[string]string{
	"new": "add put", "create": "add put", "ls": "list", "rm": "drop remove delete", "delete": "drop remove",
	"del": "delete drop remove", "remove": "drop delete", "describe": "show", "get": "show list", "info": "status",
	"upload": "put", "apply": "put", "save": "put", "query": "sql", "shell": "sql", "psql": "sql", "select": "sql",
	"start": "serve", "run": "serve", "server": "serve", "import": "ingest", "load": "ingest", "send": "ingest",
	"push": "ingest", "logs": "tail", "watch": "tail", "follow": "tail", "test": "dryrun", "try": "dryrun",
	"history": "versions", "check": "doctor", "dump": "backup",
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if inner := innerCommands(cmd, name); len(inner) > 0 {
		return fmt.Errorf("there is no command %q: did you mean '%s'?", name, strings.Join(inner, "' or '"))
	}
	like := ""
	for _, other := range strings.Fields(otherCommands[name]) {
		if like == "" && slices.Contains(names, other) {
			like = other
		}
	}
	if like == "" {
		like = nearest.Name(name, names)
	}
	if like != "" {
		return fmt.Errorf("there is no command %q: did you mean '%s %s'?", name, cmd.CommandPath(), like)
	}
	return fmt.Errorf("there is no command %q: there are %s", name, strings.Join(names, ", "))
}

// innerCommands returns the commands of the given name, in the singular or plural, below the subcommands of a
// command: 'cordwood cluster operations' for 'cordwood operation'.
func innerCommands(cmd *cobra.Command, name string) (paths []string) {
	for _, c := range cmd.Commands() {
		for _, inner := range c.Commands() {
			if inner.IsAvailableCommand() && strings.TrimSuffix(inner.Name(), "s") == strings.TrimSuffix(name, "s") {
				paths = append(paths, inner.CommandPath())
			}
		}
		paths = append(paths, innerCommands(c, name)...)
	}
	return paths
}

// FlagFault returns the error of a flag that a command was called with.
func FlagFault(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	var unknown *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	if _, _, takesAny := strings.Cut(cmd.Use, " "); !takesAny && cmd.HasAvailableSubCommands() && cmd.Flags().NArg() > 0 {
		// The flag belongs to the intended command.
		return WrongUsage(unknownCommand(cmd, cmd.Flags().Arg(0)))
	}
	switch {
	case errors.As(err, &bad):
		return WrongUsage(fmt.Errorf("--%s %s", bad.GetFlag().Name, config.ValueFault(bad.GetFlag(), bad.GetValue(), err)))
	case errors.As(err, &noValue):
		kind, _ := pflag.UnquoteUsage(noValue.GetFlag())
		return WrongUsage(fmt.Errorf("--%s needs a value: --%s %s", noValue.GetFlag().Name, noValue.GetFlag().Name,
			strings.ToUpper(kind)))
	case errors.As(err, &unknown):
		return WrongUsage(unknownFlag(cmd, unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames() != ""))
	}
	return WrongUsage(err)
}

// unknownFlag returns the error of a flag that a command does not have. short is set for a flag of one letter.
func unknownFlag(cmd *cobra.Command, name string, short bool) error {
	other := otherFlag(cmd, name)
	switch {
	case short:
		return fmt.Errorf("there is no flag -%s%s", name, other)
	case config.Removed(name) != "" && cmd.Name() == "serve":
		return fmt.Errorf("--%s: %s", name, config.Removed(name))
	case other != "":
		return fmt.Errorf("there is no flag --%s%s", name, other)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if like := nearest.Name(name, names); like != "" {
		return fmt.Errorf("there is no flag --%s: did you mean --%s?", name, like)
	}
	return fmt.Errorf("there is no flag --%s", name)
}
