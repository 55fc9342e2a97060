package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/peterh/liner"

	"cordwood/router/query/statement"
)

// lineReader asks a person for lines. *liner.State is one.
type lineReader interface {
	// Prompt returns io.EOF at the end of input, and liner.ErrPromptAborted for Ctrl-C.
	Prompt(prompt string) (string, error)
	AppendHistory(entry string)
}

// runPrompt runs a prompt on the terminal, with the history of earlier ones.
func runPrompt(ctx context.Context, s *sqlSession) error {
	state := liner.NewLiner()
	defer func() { _ = state.Close() }() // gives the terminal back
	state.SetCtrlCAborts(true)
	state.SetMultiLineMode(true)
	history := historyFile()
	if f, err := os.Open(history); err == nil {
		_, _ = state.ReadHistory(f) // without it the prompt works as well
		_ = f.Close()
	}
	fmt.Fprintf(s.out, "Connected to %s. End statements with ; and see \\? for more.\n", s.client.Server())
	err := (&prompt{session: s, in: state}).loop(ctx)
	if history == "" {
		return err
	}
	f, ferr := os.OpenFile(history, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if ferr != nil {
		return errors.Join(err, fmt.Errorf("saving the history: %w", ferr))
	}
	_, werr := state.WriteHistory(f)
	return errors.Join(err, werr, f.Close())
}

// historyFile is where the statements of earlier prompts are, or "" if there is no place.
func historyFile() string {
	if path := os.Getenv("CORDWOOD_HISTORY"); path != "" {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cordwood_history")
}

const promptHelp = `  \q          leave (also exit, quit, Ctrl-D)
  \d          list the tables; \d TABLE describes one
  \l          list the databases
  \c DB       use another database (also USE DB)
  \o FORMAT   print rows as table, json, yaml, csv or ndjson
  Ctrl-C      drop the statement, or stop it while it runs
Anything else is SQL, over as many lines as you like, up to a semicolon.
`

// prompt is a dialogue: lines are collected until they make a statement.
type prompt struct {
	session *sqlSession
	in      lineReader
	pending string // the start of a statement
}

// errLeave says that the person wants to leave.
var errLeave = errors.New("leave")

// loop runs until the end of input.
func (p *prompt) loop(ctx context.Context) error {
	for {
		line, err := p.in.Prompt(p.text())
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			p.pending = ""
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(p.session.out)
			return nil
		case err != nil:
			return fmt.Errorf("reading from the terminal: %w", err)
		}
		if err := p.line(ctx, line); errors.Is(err, errLeave) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// text is the prompt: the database, or a sign that a statement goes on.
func (p *prompt) text() string {
	if statement.IsBlank(p.pending) {
		return p.session.db + "> "
	}
	return strings.Repeat(" ", max(len(p.session.db)-1, 0)) + "-> "
}

// line takes one line, and runs each statement that it completes.
func (p *prompt) line(ctx context.Context, line string) error {
	if statement.IsBlank(p.pending) {
		p.pending = ""
		if done, err := p.command(ctx, strings.TrimSpace(line)); done {
			return err
		}
	}
	if strings.TrimSpace(line) != "" {
		p.in.AppendHistory(line)
	}
	p.pending += line + "\n"
	for {
		text, rest, complete := statement.Cut(p.pending)
		if !complete {
			return nil
		}
		p.pending = rest
		if !statement.IsBlank(text) && !p.run(ctx, text) {
			// What follows on the line may be a part of the statement that was not understood.
			if !statement.IsBlank(rest) {
				fmt.Fprintln(p.session.errOut, "the rest of the line was not run")
			}
			p.pending = ""
			return nil
		}
	}
}

// run runs a statement until it ends or Ctrl-C stops it. It prints errors, and reports
// whether there was none.
func (p *prompt) run(ctx context.Context, text string) bool {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	start := time.Now()
	if err := p.session.run(ctx, text); err != nil {
		fmt.Fprintf(p.session.errOut, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
		return false
	}
	fmt.Fprintf(p.session.errOut, "%d ms\n", time.Since(start).Milliseconds())
	return true
}

// command runs what is no SQL. done tells whether it was that.
func (p *prompt) command(ctx context.Context, line string) (done bool, err error) {
	word, argument, _ := strings.Cut(line, " ")
	argument = strings.TrimSuffix(strings.TrimSpace(argument), ";")
	switch strings.ToLower(strings.TrimSuffix(word, ";")) {
	case "":
		return true, nil
	case `\q`, "exit", "quit":
		return true, errLeave
	case `\?`, "help":
		fmt.Fprint(p.session.out, promptHelp)
	case `\l`:
		p.run(ctx, "SHOW DATABASES")
	case `\d`:
		if argument == "" {
			p.run(ctx, "SHOW TABLES")
		} else {
			p.run(ctx, "DESCRIBE "+argument)
		}
	case `\c`, "use":
		if argument == "" {
			fmt.Fprintln(p.session.errOut, `error: name the database, such as \c public`)
		} else {
			p.session.db = strings.Trim(argument, `"`)
		}
	case `\o`:
		if err := checkOutput(argument); err != nil {
			fmt.Fprintf(p.session.errOut, "error: %s\n", strings.TrimPrefix(err.Error(), "--"))
		} else {
			p.session.output = argument
		}
	default:
		if !strings.HasPrefix(line, `\`) {
			return false, nil
		}
		fmt.Fprintf(p.session.errOut, "error: unknown command %s; \\? lists them\n", word)
	}
	p.in.AppendHistory(line)
	return true, nil
}
