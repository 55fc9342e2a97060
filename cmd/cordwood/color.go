package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// wantsColor tells whether what a command prints is coloured, by its flag --color. By default
// it is on a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal is dumb.
func wantsColor(cmd *cobra.Command, when string) (bool, error) {
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
