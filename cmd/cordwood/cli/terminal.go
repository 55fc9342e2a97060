package cli

import (
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	// ProgressAfter is how long a command runs before it shows how far it is.
	ProgressAfter = 2 * time.Second
	// ProgressEvery is how often a command shows on a terminal how far it is.
	ProgressEvery = 200 * time.Millisecond
	// MaxCompletions bounds how many completions are offered.
	MaxCompletions = 1000
)

// LineReader asks a person for lines. *liner.State is one.
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

// Beginning returns the names that begin with what was typed.
func Beginning(names []string, typed string) []string {
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, typed) && len(out) < MaxCompletions {
			out = append(out, name)
		}
	}
	return out
}
