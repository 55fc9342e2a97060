package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

// output sets the format of rows, or the file that they are written to.
func (p *prompt) output(_ context.Context, argument string) error {
	switch {
	case argument == "":
		if p.file != nil {
			p.closeFile()
			fmt.Fprintln(p.session.errOut, "rows are printed on the terminal")
		}
		p.session.output = "table"
		return nil
	case outputFormats[argument] != "":
		p.session.output = argument
		return nil
	case !strings.ContainsAny(argument, "./~"):
		return fmt.Errorf("output %s: use table, json, yaml, csv or ndjson; or write ./%s for a file", argument, argument)
	}
	f, err := os.Create(expandHome(argument))
	if err != nil {
		return err
	}
	p.closeFile()
	p.file, p.screen, p.session.out = f, p.session.out, f
	fmt.Fprintf(p.session.errOut, "rows are written to %s; \\o alone prints them on the terminal again\n", f.Name())
	return nil
}

// closeFile prints rows on the terminal again.
func (p *prompt) closeFile() {
	if p.file == nil {
		return
	}
	if err := p.file.Close(); err != nil {
		p.failed(err)
	}
	p.file, p.session.out = nil, p.screen
}

// terminal returns the writer of the terminal.
func (p *prompt) terminal() io.Writer {
	if p.file != nil {
		return p.screen
	}
	return p.session.out
}

// onTerminal prints rows on the terminal, even if \o has set a file, until the returned function is called.
func (p *prompt) onTerminal() (end func()) {
	out := p.session.out
	p.session.out = p.terminal()
	return func() { p.session.out = out }
}

func (p *prompt) expand(_ context.Context, argument string) error {
	s := p.session
	switch argument {
	case "on":
		s.expanded = expandedOn
	case "off":
		s.expanded = expandedOff
	case "auto":
		s.expanded = expandedAuto
	case "":
		if s.expanded++; s.expanded != expandedOn {
			s.expanded = expandedOff
		}
	default:
		return fmt.Errorf(`\x %s: use on, off or auto`, argument)
	}
	fmt.Fprintf(p.session.errOut, "rows are printed %s\n", [...]string{
		"as a table", "a line for each column", "a line for each column if they do not fit on the screen",
	}[s.expanded])
	return nil
}

func (p *prompt) timing(_ context.Context, argument string) error {
	switch argument {
	case "on", "off":
		p.quiet = argument == "off"
	case "":
		p.quiet = !p.quiet
	default:
		return fmt.Errorf(`\timing %s: use on or off`, argument)
	}
	fmt.Fprintf(p.session.errOut, "times are %s\n", map[bool]string{false: "printed", true: "not printed"}[p.quiet])
	return nil
}

func (p *prompt) pset(_ context.Context, argument string) error {
	name, value, _ := strings.Cut(argument, " ")
	mode, ok := map[string]pagerMode{
		"":       pagerOn,
		"on":     pagerOn,
		"off":    pagerOff,
		"always": pagerAlways,
	}[strings.TrimSpace(value)]
	if name != "pager" || !ok {
		return fmt.Errorf(`\pset %s: there is \pset pager on, off or always`, argument)
	}
	if p.session.screen != nil {
		p.session.screen.pager = mode
	}
	return nil
}

// watch runs a statement repeatedly.
func (p *prompt) watch(ctx context.Context, argument string) error {
	every := watchEvery
	if argument != "" {
		seconds, err := strconv.ParseFloat(argument, 64)
		if every = time.Duration(seconds * float64(time.Second)); err != nil || every < watchLeast || seconds > 86400 {
			return fmt.Errorf(`\watch %s: want a number of seconds, from 0.1 to 86400`, argument)
		}
	}
	text := p.statement()
	p.pending = ""
	if text == "" {
		return errors.New("there is no statement to watch yet")
	}
	if !sqlRequest("", "", text, "x").Reads {
		return errors.New("only statements that read can be watched")
	}
	if s := p.session.screen; s != nil {
		defer func(mode pagerMode) { s.pager = mode }(s.pager)
		s.pager = pagerOff
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		fmt.Fprintf(p.session.out, "%s (every %v, Ctrl-C ends)\n", clock(time.Now()), every)
		if !p.run(ctx, text) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
