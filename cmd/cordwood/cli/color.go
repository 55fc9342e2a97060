package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// ColorFlag adds the flag --color; what describes the coloured output.
func ColorFlag(cmd *cobra.Command, what string) {
	cmd.Flags().String("color", "auto", "`WHEN` "+what+
		" are coloured: auto, on a terminal unless NO_COLOR is set; always, or never")
}

// WantsColor reports whether a command colours its output, by its flag --color. The default is to
// colour on a terminal unless NO_COLOR is set (https://no-color.org) or the terminal is dumb.
func WantsColor(cmd *cobra.Command) (bool, error) {
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
	return false, WrongUsage(fmt.Errorf("--color %s: use auto, always or never", when))
}

// LevelColumn lists the names of columns with a level.
var LevelColumn = map[string]bool{
	"level":         true,
	"severity":      true,
	"severity_text": true,
	"log_level":     true,
	"loglevel":      true,
	"lvl":           true,
}

// LevelColor returns the colour of a level, for Painted, or "".
func LevelColor(level string) string {
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

// Painted returns text in a terminal colour; code is the parameters of the escape sequence.
func Painted(text, code string) string {
	if code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Palette colours states if it is true.
type Palette bool

// State returns the name of a state of the cluster, or of a part of it, in the colour of this state.
func (p Palette) State(state string) string { return p.Like(state, state) }

// Like returns text in the colour of a state.
func (p Palette) Like(state, text string) string {
	if !p {
		return text
	}
	return Painted(text, stateColor(state))
}

// Heading returns the heading of a column of states. All cells of a column need escape sequences of
// the same length, because tabwriter counts them as width.
func (p Palette) Heading(text string) string { return p.Like("", text) }

// stateColor returns the colour of a state, two digits long: green for good states, red for failures,
// the terminal's own colour for neutral ones, and yellow otherwise.
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
