package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"cordwood/cmd/cordwood/cli"
	"cordwood/proto/nearest"
	"cordwood/router/query/statement"
)

// promptCommand is a command of the prompt, a line that begins with a backslash.
type promptCommand struct {
	name     string
	argument string // the argument's name in help; empty if it takes none
	help     string
	run      func(p *prompt, ctx context.Context, argument string) error
	// arguments completes its argument.
	arguments func(c *completer, typed string) []string
}

// promptCommands are all commands, in the order of \?. init fills it, since \? prints it.
var promptCommands []*promptCommand

func init() {
	words := func(words ...string) func(*completer, string) []string {
		return func(_ *completer, typed string) []string { return matching(typed, words) }
	}
	tables := func(c *completer, typed string) []string {
		if db, table, ok := strings.Cut(typed, "."); ok {
			list := matching(table, quoteNames(c.names.tables(db)))
			for i, name := range list {
				list[i] = db + "." + name
			}
			return list
		}
		return matching(typed, quoteNames(c.names.tables(c.db())))
	}
	promptCommands = []*promptCommand{
		{`\q`, "", "leave (also exit, quit, Ctrl-D)", func(*prompt, context.Context, string) error { return errLeave }, nil},
		{`\?`, "", "this list", (*prompt).help, nil},
		{
			`\h`, "[STATEMENT]", `show the syntax of a statement, such as \h CREATE TABLE`, (*prompt).syntax,
			func(_ *completer, typed string) []string { return matchingWords(typed, syntaxNames()) },
		},
		{`\d`, "[TABLE]", "list the tables, or describe one", (*prompt).describe, tables},
		{
			`\search`, "TABLE TEXT", `search a table, such as \search app level:error -host:test* "disk full"`,
			(*prompt).search, tables,
		},
		{
			`\l`, "", "list the databases",
			func(p *prompt, ctx context.Context, _ string) error {
				defer p.onTerminal()()
				p.run(ctx, "SHOW DATABASES")
				return nil
			}, nil,
		},
		{
			`\c`, "DB", "use another database (also USE DB)", (*prompt).connect,
			func(c *completer, typed string) []string { return matching(typed, quoteNames(c.names.databases())) },
		},
		{`\conninfo`, "", "print the server, the database and the time zone", (*prompt).connection, nil},
		{
			`\o`, "[FORMAT|./FILE]", "print rows as table, json, yaml, csv or ndjson, or into a file; without argument: as a " +
				"table again",
			(*prompt).output, func(_ *completer, typed string) []string {
				if strings.ContainsAny(typed, "./~") {
					return fileNames(typed)
				}
				return matching(typed, outputNames())
			},
		},
		{
			`\x`, "[on|off|auto]", "print a line for each column, if they do not fit on the screen with auto",
			(*prompt).expand, words("on", "off", "auto"),
		},
		{`\timing`, "[on|off]", "print how long statements take", (*prompt).timing, words("on", "off")},
		{
			`\pset`, "pager [on|off|always]", "show output that is longer than the screen in $PAGER", (*prompt).pset,
			words("pager", "on", "off", "always"),
		},
		{
			`\i`, "FILE", "run the statements of a file", (*prompt).include,
			func(_ *completer, typed string) []string { return fileNames(typed) },
		},
		{
			`\e`, "[FILE]", "write a statement, or change the last one, in $EDITOR", (*prompt).edit,
			func(_ *completer, typed string) []string { return fileNames(typed) },
		},
		{
			`\g`, "", "run the statement so far, or the last one again",
			func(p *prompt, ctx context.Context, _ string) error { p.again(ctx); return nil }, nil,
		},
		{`\watch`, "[SECONDS]", "run it again every two seconds, or the given number, until Ctrl-C", (*prompt).watch, nil},
		{`\p`, "", "print the statement so far, or the last one", (*prompt).print, nil},
		{
			`\r`, "", "drop the statement so far (also Ctrl-C)",
			func(p *prompt, _ context.Context, _ string) error { p.pending = ""; return nil }, nil,
		},
	}
}

// findCommand returns the command with a name, or nil.
func findCommand(name string) *promptCommand {
	if i := slices.IndexFunc(promptCommands, func(pc *promptCommand) bool { return pc.name == name }); i >= 0 {
		return promptCommands[i]
	}
	return nil
}

func outputNames() []string { return []string{"table", "json", "yaml", "csv", "ndjson"} }

// cutWordCommand reports whether a line is a command without a backslash, and returns it with its
// backslash.
func cutWordCommand(line string) (sql, command string, ok bool) {
	word, argument, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), ";"), " ")
	name := map[string]string{"exit": `\q`, "quit": `\q`, "help": `\?`, "use": `\c`}[strings.ToLower(word)]
	if name == "" || name != `\c` && strings.TrimSpace(argument) != "" {
		return line, "", false
	}
	return "", name + " " + argument, true
}

// cutCommand splits a line after a pending statement at the command at its end. A backslash in a
// quote or a comment does not start a command.
func cutCommand(pending, line string) (sql, command string, ok bool) {
	for _, t := range statement.Tokens(pending + line) {
		if at := t.From - len(pending); at >= 0 && t.Kind == statement.TokenSymbol && t.Value == `\` {
			return line[:at], line[at:], true
		}
	}
	return line, "", false
}

// command runs a line that begins with a backslash.
func (p *prompt) command(ctx context.Context, line string) error {
	name, argument, _ := strings.Cut(line, " ")
	argument = strings.TrimSpace(argument)
	if pc := findCommand(name); pc == nil { // psql's lines may end with a semicolon
		name, argument = strings.TrimSuffix(name, ";"), strings.TrimSuffix(argument, ";")
	} else if name != `\h` {
		argument = strings.TrimSpace(strings.TrimSuffix(argument, ";"))
	}
	pc := findCommand(name)
	if pc == nil {
		var names []string
		for _, pc := range promptCommands {
			names = append(names, pc.name)
		}
		like := ""
		if len(name) > 2 {
			like = nearest.Name(name, names)
		}
		if like != "" {
			p.failed(fmt.Errorf("there is no command %s: did you mean %s?", name, like))
		} else {
			p.failed(fmt.Errorf(`there is no command %s: \? lists them`, name))
		}
		return nil
	}
	if argument != "" && pc.argument == "" {
		p.failed(fmt.Errorf("%s takes no argument", name))
		return nil
	}
	err := pc.run(p, ctx, argument)
	if err != nil && !errors.Is(err, errLeave) {
		p.failed(err)
		return nil
	}
	return err
}

func (p *prompt) help(context.Context, string) error {
	var b strings.Builder
	for _, pc := range promptCommands {
		fmt.Fprintf(&b, "  %-24s %s\n", strings.TrimSpace(pc.name+" "+pc.argument), pc.help)
	}
	b.WriteString(`  Ctrl-C                   drop the statement, or stop it while it runs
  Tab                      complete a word; twice: show what it can be
Anything else is SQL, over as many lines as you like, up to a semicolon. A line may end with a
command, as in SELECT count(*) FROM app \watch 5. The history keeps statements, but none that begins with
a space or has a word such as password; it is in ~/.cordwood_history, or in the file CORDWOOD_HISTORY.
`)
	_, err := io.WriteString(p.terminal(), b.String())
	return err
}

func (p *prompt) describe(ctx context.Context, table string) error {
	defer p.onTerminal()()
	if table == "" {
		p.run(ctx, "SHOW TABLES")
	} else {
		p.run(ctx, "DESCRIBE "+table)
	}
	return nil
}

// connect switches to another database, if it exists.
func (p *prompt) connect(ctx context.Context, name string) error {
	if name == "" {
		return errors.New(`give the database, such as \c public`)
	}
	if tokens := statement.Tokens(name); len(tokens) == 1 && tokens[0].Kind == statement.TokenName {
		name = tokens[0].Value
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	c := p.session.client
	found, err := cli.FirstColumn(ctx, c, "SELECT schema_name FROM information_schema.schemata WHERE schema_name = "+
		cli.Literal(name))
	if err != nil {
		return fmt.Errorf("%w; still in %s", err, p.session.db)
	}
	if len(found) == 0 {
		like := ""
		if all, err := cli.FirstColumn(ctx, c, "SELECT schema_name FROM information_schema.schemata ORDER BY 1"); err == nil {
			like = nearest.DidYouMean("; ", name, all)
		}
		return fmt.Errorf("there is no database %q%s still in %s", name, orSemicolon(like), p.session.db)
	}
	p.session.db = name
	return nil
}

// connection prints the server, database and time zone of statements.
func (p *prompt) connection(context.Context, string) error {
	zone := p.session.zone
	if zone == "" {
		zone = "UTC"
	}
	_, err := fmt.Fprintf(p.terminal(), "Connected to %s, database %s. Times without a zone are in %s.\n",
		p.session.client.Server(), p.session.db, zone)
	return err
}

// orSemicolon returns the end of a sentence.
func orSemicolon(like string) string {
	if like == "" {
		return ";"
	}
	return like
}

// include runs the statements of a file.
func (p *prompt) include(ctx context.Context, name string) error {
	if name == "" {
		return errors.New(`give the file, such as \i schema.sql`)
	}
	f, err := os.Open(expandHome(name))
	if err != nil {
		return err
	}
	defer f.Close()
	err = p.session.script(ctx, f)
	if p.names != nil {
		p.names.forget()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// statement returns the statement that is being typed, or else the last one.
func (p *prompt) statement() string {
	if statement.IsBlank(p.pending) {
		return p.last
	}
	return p.pending
}

// again runs the pending statement, or the last one.
func (p *prompt) again(ctx context.Context) {
	text := p.statement()
	p.pending = ""
	if text == "" {
		p.failed(errors.New("there is no statement yet"))
		return
	}
	p.run(ctx, text)
}

func (p *prompt) print(context.Context, string) error {
	_, err := fmt.Fprintln(p.terminal(), strings.TrimRight(p.statement(), "\n"))
	return err
}

const (
	watchEvery = 2 * time.Second
	watchLeast = 100 * time.Millisecond
)

// edit opens a statement in an editor, and then processes the content of the file as if it were
// typed.
func (p *prompt) edit(ctx context.Context, name string) error {
	if p.outside == nil {
		return errors.New("there is no terminal to edit on")
	}
	before := strings.TrimRight(p.statement(), "\n") + "\n"
	if name == "" {
		f, err := os.CreateTemp("", "cordwood-*.sql")
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(f.Name()) }()
		name = f.Name()
		if !statement.IsBlank(before) {
			if statement.IsBlank(p.pending) {
				before = strings.TrimRight(before, "\n") + ";\n"
			}
			_, err = f.WriteString(before)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	} else {
		name, before = expandHome(name), ""
	}
	if err := p.outside(func() error { return runEditor(name) }); err != nil {
		return fmt.Errorf("run the editor: %w", err)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil || len(text) > maxScript {
		return fmt.Errorf("%s: it cannot be read, or is longer than %d MiB", name, maxScript>>20)
	}
	if string(text) == before {
		fmt.Fprintln(p.session.errOut, "nothing was changed, so nothing is run")
		return nil
	}
	p.pending, p.typed = "", string(text)
	if !statement.IsBlank(p.typed) {
		fmt.Fprintln(p.terminal(), strings.TrimRight(p.typed, "\n"))
	}
	p.take(ctx, strings.TrimRight(p.typed, "\n")+"\n")
	return nil
}

// runEditor runs the user's editor on a file.
func runEditor(file string) error {
	editor := "vi"
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v := os.Getenv(name); v != "" {
			editor = v
			break
		}
	}
	c := exec.Command("/bin/sh", "-c", "exec "+editor+` "$1"`, "sh", file)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}
