package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// colorFlag is the flag --color of commands that colour what.
func colorFlag(cmd *cobra.Command, what string) {
	cmd.Flags().String("color", "auto", "`WHEN` "+what+" are coloured: auto, on a terminal unless NO_COLOR is set; always, or never")
}

// wantsColor tells whether what a command prints is coloured, by its flag --color. By default
// it is on a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal is dumb.
func wantsColor(cmd *cobra.Command) (bool, error) {
	when, err := cmd.Flags().GetString("color")
	if err != nil {
		return false, err
	}
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		f, isFile := cmd.OutOrStdout().(*os.File)
		return isFile && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", nil
	}
	return false, usageError{fmt.Errorf("--color %s: use auto, always or never", when)}
}

// levelColumn are the names of columns that hold a level.
var levelColumn = map[string]bool{"level": true, "severity": true, "severity_text": true, "log_level": true, "loglevel": true, "lvl": true}

// levelColor is the colour of a level, for painted; empty: none.
func levelColor(level string) string {
	switch strings.ToLower(strings.TrimSpace(level)) {
	case "fatal", "panic", "emerg", "emergency", "alert", "crit", "critical":
		return "1;31"
	case "error", "err":
		return "31"
	case "warn", "warning":
		return "33"
	case "info", "notice":
		return "32"
	case "debug", "trace":
		return "2"
	}
	return ""
}

// painted is a text in a colour of the terminal.
func painted(text, code string) string {
	if code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// palette colours states, if it is set.
type palette bool

// state is a state of the cluster, or of something in it, in its colour.
func (p palette) state(state string) string { return p.like(state, state) }

// like is a text in the colour of a state.
func (p palette) like(state, text string) string {
	if !p {
		return text
	}
	return painted(text, stateColor(state))
}

// heading is the heading of a column of states: all cells of a column need escape sequences of
// the same length, as they count for its width.
func (p palette) heading(text string) string { return p.like("", text) }

// stateColor is the colour of a state, two digits long: green if all is well, red if something
// does not work, the terminal's own if it says neither, and else yellow.
func stateColor(state string) string {
	switch state {
	case "ok", "up", "done":
		return "32"
	case "broken", "down", "unreachable", "no leader", "failed", "critical":
		return "31"
	case "", "running", "cancelled", "drained", "info":
		return "39"
	}
	return "33"
}
