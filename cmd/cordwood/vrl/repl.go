package vrl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mattn/go-isatty"
	"github.com/peterh/liner"
	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

const replHelp = `Type an expression; its value is printed. Variables and the event (.) are kept.
  \?               this text (also help)
  \h               all functions (also help functions)
  \h NAME          one function (also help NAME)
  \q               leave (also quit, exit, Ctrl-D)
  Tab              complete a function, a variable or a field; twice: show what it can be
An expression that is not complete goes on in the next line, as does a line that ends in \. An empty line ends it.
`

func newReplCommand() *cobra.Command {
	var flags programFlags
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
				return cli.WrongUsage(fmt.Errorf("--event: %w", err))
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

// repl is a dialogue in VRL.
type repl struct {
	session *vrl.Session
	in      cli.LineReader
	out     io.Writer
}

func (r *repl) onTerminal() error {
	state := liner.NewLiner()
	defer func() { _ = state.Close() }() // restores the terminal
	state.SetCtrlCAborts(true)
	state.SetMultiLineMode(true)
	state.SetTabCompletionStyle(liner.TabPrints)
	state.SetWordCompleter(r.complete)
	r.in = state
	fmt.Fprint(r.out, replHelp)
	return r.loop()
}

// complete completes a function, a variable, or a field of the event, before the cursor; pos counts
// characters.
func (r *repl) complete(line string, pos int) (head string, completions []string, tail string) {
	runes := []rune(line)
	head, tail = string(runes[:pos]), string(runes[pos:])
	start := strings.LastIndexFunc(head, func(c rune) bool {
		return c != '_' && c != '.' && c != '@' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) + 1
	typed := head[start:]
	if i := strings.LastIndexByte(typed, '.'); i >= 0 {
		return head[:start] + typed[:i+1], fieldsOf(r.session.Event(), typed[:i+1], typed[i+1:]), tail
	}
	if typed == "" {
		return head, nil, tail
	}
	for _, name := range r.session.Variables() {
		if strings.HasPrefix(name, typed) {
			completions = append(completions, name)
		}
	}
	for _, f := range vrl.Functions() {
		if strings.HasPrefix(f.Name, typed) {
			completions = append(completions, f.Name+"(")
		}
	}
	return head[:start], completions, tail
}

// fieldsOf returns the fields that begin with the typed text, of the object at a path such as .a.b.
func fieldsOf(v value.Value, path, typed string) []string {
	if !strings.HasPrefix(path, ".") {
		return nil // it is a field of a variable
	}
	for name := range strings.SplitSeq(strings.Trim(path, "."), ".") {
		if name == "" {
			continue
		}
		if v.Kind() != value.Object {
			return nil
		}
		v, _ = v.Object().Get(name)
	}
	if v.Kind() != value.Object {
		return nil
	}
	var names []string
	for _, field := range v.Object().Peek() {
		if strings.HasPrefix(field.Key, typed) {
			names = append(names, fieldName(field.Key))
		}
	}
	slices.Sort(names)
	return names[:min(len(names), cli.MaxCompletions)]
}

// fieldName returns a field in the form that a path needs.
func fieldName(name string) string {
	plain := name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && c != '@' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	})
	if plain {
		return name
	}
	return strconv.Quote(name)
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
			if pending != "" {
				r.eval(pending)
			}
			return nil
		case err != nil:
			return err
		}
		ended := pending != "" && strings.TrimSpace(line) == ""
		if head, more := strings.CutSuffix(line, `\`); more {
			pending += head + "\n"
			continue
		}
		line, pending = pending+line, ""
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !ended && r.isIncomplete(line) {
			pending = line + "\n"
			continue
		}
		r.in.AppendHistory(oneLine(line))
		if r.handle(line) {
			return nil
		}
	}
}

// unexpectedEnd is the code of the error for a program that is incomplete.
const unexpectedEnd = 204

// isIncomplete reports whether a line is only the beginning of an expression.
func (r *repl) isIncomplete(line string) bool {
	var d *vrl.Diagnostics
	_, _, err := vrl.Compile(line, vrl.Options{})
	return errors.As(err, &d) && len(d.List) > 0 && d.List[0].Code == unexpectedEnd
}

// oneLine joins the lines of an expression, for the history.
func oneLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	out := strings.TrimSpace(lines[0])
	for _, next := range lines[1:] {
		next = strings.TrimSpace(next)
		open := strings.LastIndexAny(out, "{([,+-*/&|=?!<>:") == len(out)-1 || strings.HasSuffix(out, " else")
		if open || next == "" || strings.ContainsAny(next[:1], "})].,+-*/&|=?<>") || strings.HasPrefix(next, "else") {
			out += " " + next
		} else {
			out += "; " + next
		}
	}
	return strings.TrimSpace(out)
}

// handle processes a line, and reports whether it was the last.
func (r *repl) handle(line string) (leave bool) {
	switch words := strings.Fields(line); len(words) {
	case 1:
		switch words[0] {
		case "quit", "exit", `\q`:
			return true
		case `\h`:
			listFunctions(r.out)
			return false
		case "help", `\?`:
			fmt.Fprint(r.out, replHelp)
			return false
		}
	case 2:
		if words[0] == "help" || words[0] == `\h` {
			r.help(words[1])
			return false
		}
	}
	if command, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(command, `\`) {
		fmt.Fprintf(r.out, "there is no command %s: \\? lists them\n", command)
		return false
	}
	r.eval(line)
	return false
}

// help describes a function, or lists all functions if there is none with that name.
func (r *repl) help(name string) {
	if f, ok := vrl.Function(name); ok {
		describeFunction(r.out, f)
	} else {
		listFunctions(r.out)
	}
}

// eval evaluates an expression, and prints its value or the errors.
func (r *repl) eval(line string) {
	v, warnings, err := r.session.Eval(line)
	var d *vrl.Diagnostics
	switch {
	case errors.As(err, &d):
		fmt.Fprint(r.out, d.Render(""))
	case err != nil:
		fmt.Fprintf(r.out, "failed: %v\n", err)
	default:
		for _, w := range warnings {
			if w.Code != 900 { // the warning about unused results does not apply at a prompt
				fmt.Fprintln(r.out, w)
			}
		}
		fmt.Fprintln(r.out, valueText(v))
	}
}
