// Package vrl has the subcommands for VRL, the language of pipelines: it runs and checks programs
// (vrl.go), evaluates expressions at a prompt (repl.go), describes functions (help.go,
// reference.go), and answers requests of the language's own tests (stream.go).
package vrl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// programFlags are the flags of all commands for VRL.
type programFlags struct {
	timezone string
	grants   []string
}

func (f *programFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.timezone, "timezone", "UTC", "`ZONE` of times without an offset: UTC, an IANA name, or local")
	cmd.Flags().StringSliceVar(&f.grants, "grant", []string{"environment", "files"},
		"`WHAT` programs may use: environment, network, files")
}

// options returns the compiler options of the flags.
func (f *programFlags) options(stderr io.Writer) (vrl.Options, error) {
	o := vrl.Options{Logger: slog.New(slog.NewTextHandler(stderr, nil))}
	zone, err := vrl.ParseZone(f.timezone)
	if err != nil {
		return o, cli.WrongUsage(err)
	}
	o.Zone = zone
	for _, g := range f.grants {
		switch g {
		case "environment":
			o.Grants |= fn.Environment
		case "network":
			o.Grants |= fn.Network
		case "files":
			o.Grants |= fn.Files
		default:
			return o, cli.WrongUsage(fmt.Errorf("--grant %s: there are environment, network and files", g))
		}
	}
	return o, nil
}

// NewCommand returns the command vrl.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vrl",
		Short: "Run, check and try programs in VRL, the language of pipelines",
		Example: `  cordwood vrl run program.vrl events.ndjson
  cordwood vrl check program.vrl
  cordwood vrl help parse_json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRunCommand(), newCheckCommand(), newReplCommand(), newTestStreamCommand(),
		newHelpCommand())
	return cmd
}

// readProgram reads a program from a file, or from standard input for "-".
func readProgram(cmd *cobra.Command, name string) (string, error) {
	if name == "-" {
		b, err := io.ReadAll(cmd.InOrStdin())
		return string(b), err
	}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, " =(!") {
		return "", cli.WrongUsage(fmt.Errorf("there is no file %q: if that is the program itself, 'cordwood vrl run' "+
			"accepts it by --program, and other commands read it from standard input for -", name))
	}
	return string(b), err
}

// compileProgram compiles a program and prints its errors and warnings.
func compileProgram(cmd *cobra.Command, name, source string, o vrl.Options) (*vrl.Program, error) {
	p, warnings, err := vrl.Compile(source, o)
	var d *vrl.Diagnostics
	if errors.As(err, &d) {
		fmt.Fprint(cmd.ErrOrStderr(), d.Render(name))
		return nil, fmt.Errorf("%s does not compile: %s", name, cli.Count(len(d.List), "error"))
	}
	if err != nil {
		return nil, err
	}
	if len(warnings) > 0 {
		fmt.Fprint(cmd.ErrOrStderr(), (&vrl.Diagnostics{Source: source, List: warnings}).Render(name))
	}
	return p, nil
}

func newRunCommand() *cobra.Command {
	var flags programFlags
	var program string
	var result bool
	cmd := &cobra.Command{
		Use:   "run PROGRAM [EVENTS.ndjson]",
		Short: "Run a program on events, one JSON value per line",
		Long: `Run a program on events, one JSON value per line, from a file or standard input. Each event is
printed with the program's changes. Events on which the program fails are reported on standard
error, and the exit status is 1.`,
		Example: `  cordwood vrl run program.vrl events.ndjson
  echo '{"a":"1"}' | cordwood vrl run --program '.a = to_int!(.a)'`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, source := "program", program
			if source == "" {
				if len(args) == 0 {
					return cli.WrongUsage(errors.New("give the file of the program, or the program with --program"))
				}
				var err error
				name, args = args[0], args[1:]
				if source, err = readProgram(cmd, name); err != nil {
					return err
				}
			}
			o, err := flags.options(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			p, err := compileProgram(cmd, name, source, o)
			if err != nil {
				return err
			}
			in := cmd.InOrStdin()
			if len(args) > 0 && args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			return runEvents(p, in, cmd.OutOrStdout(), cmd.ErrOrStderr(), result)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&program, "program", "", "the `PROGRAM` itself, instead of a file")
	cmd.Flags().BoolVar(&result, "result", false, "print the value of the program's last expression instead of the event")
	return cmd
}

// maxEventLine is the maximum length of a line of events.
const maxEventLine = 64 << 20

// runEvents runs a program on each line of a stream.
func runEvents(p *vrl.Program, in io.Reader, out, problems io.Writer, result bool) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), maxEventLine)
	w := bufio.NewWriter(out)
	failed := 0
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		event, err := value.ParseJSON(lines.Text(), value.JSONOptions{})
		if err != nil {
			return fmt.Errorf("line %d is not JSON: %w", n, err)
		}
		v, err := p.Run(&event, nil)
		if err != nil {
			failed++
			fmt.Fprintf(problems, "line %d: %v\n", n, err)
			continue
		}
		if !result {
			v = event
		}
		if _, err := w.Write(append(value.AppendJSON(nil, v), '\n')); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("the program failed on %s", cli.Count(failed, "event"))
	}
	return nil
}

func newCheckCommand() *cobra.Command {
	var flags programFlags
	cmd := &cobra.Command{
		Use:     "check PROGRAM…",
		Short:   "Compile programs and show what is wrong with them",
		Example: "  cordwood vrl check program.vrl",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.options(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			o.Record = true // programs are mostly written for pipelines
			var all []error
			for _, name := range args {
				source, err := readProgram(cmd, name)
				if err != nil {
					return err
				}
				start := time.Now()
				p, err := compileProgram(cmd, name, source, o)
				if err != nil {
					all = append(all, err)
					continue
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, compiled in %s, results in %s\n", name,
					time.Since(start).Round(10*time.Microsecond), p.Result())
			}
			return errors.Join(all...)
		},
	}
	flags.register(cmd)
	return cmd
}
