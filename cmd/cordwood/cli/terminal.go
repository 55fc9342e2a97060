package cli

import (
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	// ProgressAfter is the time after which a command shows its progress.
	ProgressAfter = 2 * time.Second
	// ProgressEvery is the interval at which a command updates its progress on a terminal.
	ProgressEvery = 200 * time.Millisecond
	// MaxCompletions is the maximum number of completions.
	MaxCompletions = 1000
)

// LineReader reads lines from a user. *liner.State implements it.
type LineReader interface {
	// Prompt returns io.EOF at the end of input, and liner.ErrPromptAborted for Ctrl-C.
	Prompt(prompt string) (string, error)
	AppendHistory(entry string)
}

// TerminalSize returns the size of a terminal, or 0.
func TerminalSize(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// Beginning returns the names with the typed prefix.
func Beginning(names []string, typed string) []string {
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, typed) && len(out) < MaxCompletions {
			out = append(out, name)
		}
	}
	return out
}
