package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/peterh/liner"
	"github.com/spf13/cobra"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

const replHelp = `Type an expression; its value is printed. Variables and the event (.) are kept.
  help             this text
  help functions   all functions
  help NAME        one function
  quit             leave (also exit, Ctrl-D)
A line that ends in \ goes on in the next one.
`

func newVRLReplCommand() *cobra.Command {
	var flags vrlFlags
	var event string
	cmd := &cobra.Command{
		Use:     "repl",
		Short:   "Try the language at a prompt",
		Example: `  cordwood vrl repl --event '{"message":"a=1 b=2"}'`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := flags.options(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			start, err := value.ParseJSON(event, value.JSONOptions{})
			if err != nil {
				return usageError{fmt.Errorf("--event: %w", err)}
			}
			r := &repl{session: vrl.NewSession(o, start), out: cmd.OutOrStdout()}
			if cmd.InOrStdin() == io.Reader(os.Stdin) && isatty.IsTerminal(os.Stdin.Fd()) {
				return r.onTerminal()
			}
			r.in = &plainLines{bufio.NewScanner(cmd.InOrStdin())}
			return r.loop()
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&event, "event", "{}", "the `EVENT` to start with, as JSON")
	return cmd
}

// plainLines reads lines that do not come from a terminal.
type plainLines struct{ *bufio.Scanner }

func (p *plainLines) Prompt(string) (string, error) {
	if p.Scan() {
		return p.Text(), nil
	}
	if err := p.Err(); err != nil {
		return "", err
	}
	return "", io.EOF
}

func (*plainLines) AppendHistory(string) {}

// repl is a dialogue in the language.
type repl struct {
	session *vrl.Session
	in      lineReader
	out     io.Writer
}

func (r *repl) onTerminal() error {
	state := liner.NewLiner()
	defer func() { _ = state.Close() }() // gives the terminal back
	state.SetCtrlCAborts(true)
	state.SetMultiLineMode(true)
	state.SetWordCompleter(completeFunction)
	r.in = state
	fmt.Fprint(r.out, replHelp)
	return r.loop()
}

// completeFunction completes the name of a function before the cursor.
func completeFunction(line string, pos int) (head string, completions []string, tail string) {
	start := pos
	for start > 0 && (line[start-1] == '_' || line[start-1] >= 'a' && line[start-1] <= 'z' || line[start-1] >= '0' && line[start-1] <= '9') {
		start--
	}
	for _, f := range vrl.Functions() {
		if start < pos && strings.HasPrefix(f.Name, line[start:pos]) {
			completions = append(completions, f.Name+"(")
		}
	}
	return line[:start], completions, line[pos:]
}

func (r *repl) loop() error {
	pending := ""
	for {
		prompt := "vrl> "
		if pending != "" {
			prompt = "...> "
		}
		line, err := r.in.Prompt(prompt)
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			pending = ""
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if head, more := strings.CutSuffix(line, `\`); more {
			pending += head + "\n"
			continue
		}
		line, pending = pending+line, ""
		if strings.TrimSpace(line) == "" {
			continue
		}
		r.in.AppendHistory(strings.ReplaceAll(line, "\n", " "))
		if r.handle(line) {
			return nil
		}
	}
}

// handle answers a line and tells whether it was the last.
func (r *repl) handle(line string) (leave bool) {
	words := strings.Fields(line)
	switch {
	case len(words) == 1 && (words[0] == "quit" || words[0] == "exit"):
		return true
	case len(words) == 1 && words[0] == "help":
		fmt.Fprint(r.out, replHelp)
		return false
	case len(words) == 2 && words[0] == "help":
		if f, ok := vrl.Function(words[1]); ok {
			describeFunction(r.out, f)
		} else {
			listFunctions(r.out)
		}
		return false
	}
	v, warnings, err := r.session.Eval(line)
	var d *vrl.Diagnostics
	switch {
	case errors.As(err, &d):
		fmt.Fprint(r.out, d.Render(""))
	case err != nil:
		fmt.Fprintf(r.out, "failed: %v\n", err)
	default:
		for _, w := range warnings {
			if w.Code != 900 { // a prompt is made to leave results unused
				fmt.Fprintln(r.out, w)
			}
		}
		fmt.Fprintln(r.out, valueText(v))
	}
	return false
}
