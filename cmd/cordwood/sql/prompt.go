package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/peterh/liner"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/router/query/statement"
)

// runPrompt runs a prompt on the terminal, with the stored history. once is a client for names,
// which does not retry.
func runPrompt(ctx context.Context, s *sqlSession, once *client.Client) error {
	outside, err := liner.TerminalMode()
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	state := liner.NewLiner()
	defer func() { _ = state.Close() }() // restores the terminal
	inside, err := liner.TerminalMode()
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	state.SetCtrlCAborts(true)
	state.SetMultiLineMode(true)
	state.SetTabCompletionStyle(liner.TabPrints)
	if s.out == io.Writer(os.Stdout) {
		s.screen = &screen{
			out: s.out, size: func() (int, int) { return cli.TerminalSize(os.Stdout) }, start: startPager, now: time.Now,
		}
	}
	names := &serverNames{ctx: ctx, client: once, now: time.Now}
	p := &prompt{
		session: s, in: state, names: names, history: &history{path: historyFile()},
		// A program on the terminal finds it in the state before the prompt.
		outside: func(run func() error) error {
			_ = outside.ApplyMode()
			defer func() { _ = inside.ApplyMode() }()
			return run()
		},
	}
	c := &completer{names: names, db: func() string { return s.db }, pending: func() string { return p.pending }}
	state.SetWordCompleter(c.complete)
	if err := p.history.load(state.AppendHistory); err != nil {
		fmt.Fprintf(s.errOut, "warning: %v\n", err)
	}
	fmt.Fprintf(s.out, "Connected to %s. End statements with ; and see \\? for more.\n", s.client.Server())
	return p.loop(ctx)
}

// prompt is a dialogue: it collects lines until they make a statement.
type prompt struct {
	session *sqlSession
	in      cli.LineReader
	names   *serverNames
	history *history
	outside func(run func() error) error // runs another program on the terminal

	pending string // the start of a statement
	typed   string // the lines since the last complete statement
	last    string // the last executed statement
	// quiet turns off the printing of times.
	quiet bool
	// file is the file of \o, or nil.
	file *os.File
	// screen is the writer for rows before \o.
	screen io.Writer
	// unsaved is set once the history could not be saved and a message was printed.
	unsaved bool
}

// errLeave means that the user leaves the prompt.
var errLeave = errors.New("leave")

// loop runs until the end of input.
func (p *prompt) loop(ctx context.Context) error {
	defer p.closeFile()
	for {
		line, err := p.in.Prompt(p.text())
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			p.remember()
			p.pending = ""
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(p.terminal())
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

// text returns the prompt: the database, or a mark that shows that a statement or a quote continues.
func (p *prompt) text() string {
	if statement.IsBlank(p.pending) {
		return p.session.db + "> "
	}
	return strings.Repeat(" ", max(len(p.session.db)-1, 0)) + openQuote(p.pending) + "> "
}

// openQuote returns the open quote at the end of a statement, or "-".
func openQuote(pending string) string {
	tokens := statement.Tokens(pending)
	if len(tokens) == 0 || tokens[len(tokens)-1].Kind != statement.TokenUnfinished {
		return "-"
	}
	rest := pending[tokens[len(tokens)-1].From:]
	if at := strings.IndexAny(rest, "'\"`$*"); at >= 0 {
		return rest[at : at+1]
	}
	return "-"
}

// line processes one line: it runs each statement that the line completes, and the command at its
// end.
func (p *prompt) line(ctx context.Context, line string) error {
	if statement.IsBlank(p.pending) {
		p.pending = ""
		if strings.TrimSpace(line) == "" {
			return nil
		}
	}
	p.typed += line + "\n"
	if strings.TrimSpace(line) == `\r` { // even in a quote, which otherwise only Ctrl-C ends
		p.pending = ""
		p.remember()
		return nil
	}
	command, isCommand := "", false
	if statement.IsBlank(p.pending) {
		line, command, isCommand = cutWordCommand(line)
	}
	if !isCommand {
		line, command, isCommand = cutCommand(p.pending, line)
	}
	if !isCommand {
		line += "\n"
	}
	ok := p.take(ctx, line)
	var err error
	if isCommand {
		if ok {
			err = p.command(ctx, strings.TrimSpace(command))
		}
	}
	if statement.IsBlank(p.pending) {
		p.remember()
	}
	return err
}

// take adds a text to the pending statement, and runs each complete statement. It reports whether
// none failed.
func (p *prompt) take(ctx context.Context, text string) bool {
	p.pending += text
	for {
		text, rest, complete := statement.Cut(p.pending)
		if !complete {
			return true
		}
		p.pending = rest
		if !statement.IsBlank(text) && !p.run(ctx, text) {
			// The rest of the line may belong to the statement that failed.
			if !statement.IsBlank(rest) {
				fmt.Fprintln(p.session.errOut, "the rest of the line was not run")
			}
			p.pending = ""
			return false
		}
	}
}

// remember saves the typed text in the history.
func (p *prompt) remember() {
	entry, keep := historyEntry(p.typed)
	p.typed = ""
	if !keep {
		return
	}
	p.in.AppendHistory(entry)
	if p.history == nil || p.unsaved {
		return
	}
	if err := p.history.save(entry); err != nil {
		p.unsaved = true
		fmt.Fprintf(p.session.errOut, "warning: %v\n", err)
	}
}

// run runs a statement until it ends or Ctrl-C stops it. It prints errors, and reports
// whether there was none.
func (p *prompt) run(ctx context.Context, text string) bool {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	p.last = text
	start, read := time.Now(), p.session.reading()
	var err error
	if name, ok := usedDatabase(text); ok {
		err = p.connect(ctx, name) // the server has no session that could store it
	} else {
		err = p.session.run(ctx, text)
	}
	took := time.Since(start) - (p.session.reading() - read)
	if p.names != nil && !sqlRequest("", "", text, "x").Reads {
		p.names.forget()
	}
	if err != nil {
		p.failed(err)
		return false
	}
	if !p.quiet {
		fmt.Fprintln(p.session.errOut, spent(took))
	}
	return true
}

// usedDatabase returns the database of a USE statement, in the form that connect accepts.
func usedDatabase(text string) (name string, ok bool) {
	tokens := slices.DeleteFunc(statement.Tokens(text), func(t statement.Token) bool {
		return t.Kind == statement.TokenComment || t.Kind == statement.TokenSymbol && t.Value == ";"
	})
	if len(tokens) != 2 || !isWord(tokens[0], "USE") || !isName(tokens[1]) {
		return "", false
	}
	return text[tokens[1].From:tokens[1].To], true
}

// spent prints how long a statement took, without the time in its pager.
func spent(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Truncate(10*time.Millisecond).Seconds())
	}
	d = d.Truncate(time.Second)
	return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
}

// reading returns the time that the user has spent in the pagers of the session.
func (s *sqlSession) reading() time.Duration {
	if s.screen == nil {
		return 0
	}
	return s.screen.reading
}

// failed prints an error.
func (p *prompt) failed(err error) {
	fmt.Fprintf(p.session.errOut, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
}
