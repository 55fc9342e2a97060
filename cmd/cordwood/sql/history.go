package sql

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/peterh/liner"

	"cordwood/router/query/statement"
)

const (
	// maxHistory is how many statements are kept, in memory and in the file.
	maxHistory = liner.HistoryLimit
	// maxEntry is the longest statement that is kept, in bytes.
	maxEntry = 32 << 10
	// maxHistoryFile bounds what is read of the file: its end.
	maxHistoryFile = 4 << 20
)

// history keeps the statements of a person, of earlier prompts too. Each is one line of the
// file, which other users may not read. An empty path keeps them in memory only.
type history struct {
	path string
	last string
}

// historyFile is where the statements of earlier prompts are, or "" if there is no place.
func historyFile() string {
	if path, set := os.LookupEnv("CORDWOOD_HISTORY"); set {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cordwood_history")
}

// load gives what the file holds to add, the oldest first. A file with far more than is kept
// is written anew with the rest.
func (h *history) load(add func(entry string)) error {
	if h.path == "" {
		return nil
	}
	f, err := os.Open(h.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	defer f.Close()
	entries, all, err := readEntries(f)
	if err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	kept := entries[max(0, len(entries)-maxHistory):]
	for _, entry := range kept {
		add(entry)
		h.last = entry
	}
	if !all || len(entries) > 2*maxHistory {
		return h.rewrite(kept)
	}
	return nil
}

// readEntries reads the entries at the end of a file. all reports whether that is the whole file.
func readEntries(f *os.File) (entries []string, all bool, err error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is no file", f.Name())
	}
	if from := info.Size() - maxHistoryFile; from > 0 {
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return nil, false, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxHistoryFile))
	if err != nil {
		return nil, false, err
	}
	for line := range bytes.Lines(text) {
		if entry := string(bytes.TrimRight(line, "\r\n")); entry != "" && len(entry) <= maxEntry && utf8.ValidString(entry) {
			entries = append(entries, entry)
		}
	}
	return entries, info.Size() <= maxHistoryFile, nil
}

// rewrite replaces the file.
func (h *history) rewrite(entries []string) error {
	f, err := os.CreateTemp(filepath.Dir(h.path), ".cordwood_history-") // of mode 0600
	if err != nil {
		return fmt.Errorf("shortening the history: %w", err)
	}
	w := bufio.NewWriter(f)
	for _, entry := range entries {
		_, _ = w.WriteString(entry + "\n")
	}
	if err = errors.Join(w.Flush(), f.Close()); err == nil {
		err = os.Rename(f.Name(), h.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("shortening the history: %w", err)
	}
	return nil
}

// save adds an entry to the file at once, so that neither a killed prompt nor one beside it
// loses it.
func (h *history) save(entry string) error {
	if h.path == "" || entry == h.last {
		return nil
	}
	h.last = entry
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("saving the history: %w", err)
	}
	err = f.Chmod(0o600) // it may be of a program that let others read it
	if err == nil {
		_, err = f.WriteString(entry + "\n")
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("saving the history: %w", err)
	}
	return nil
}

// secretWords are parts of words by which a text is taken to hold a secret.
var secretWords = []string{"password", "passwd", "secret", "credential", "api_key", "apikey", "private_key", "bearer "}

// historyEntry returns a text of statements, which may have been typed on several lines, as one line that
// means the same. keep is false for what is not to be remembered: a text that begins with
// a space, or seems to hold a secret, or cannot be written on one line.
func historyEntry(typed string) (entry string, keep bool) {
	if strings.HasPrefix(typed, " ") {
		return "", false
	}
	lower := strings.ToLower(typed)
	if slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(lower, word) }) {
		return "", false
	}
	var b strings.Builder
	end := 0
	for _, t := range statement.Tokens(typed) {
		space := typed[end:t.From]
		if strings.ContainsAny(space, "\r\n") {
			space = " "
		}
		end = t.To
		piece, ok := onOneLine(t, typed[t.From:t.To], end == len(typed))
		if !ok {
			return "", false
		}
		if b.Len() > 0 {
			b.WriteString(space)
		}
		b.WriteString(piece)
	}
	entry = strings.TrimSpace(b.String())
	// The prompt of a terminal shows no control characters.
	return entry, entry != "" && len(entry) <= maxEntry &&
		!strings.ContainsFunc(entry, func(r rune) bool { return r < ' ' && r != '\t' })
}

// onOneLine returns the text of a token without ends of lines, or false if it needs them.
func onOneLine(t statement.Token, piece string, last bool) (string, bool) {
	switch {
	case t.Kind == statement.TokenComment && strings.HasPrefix(piece, "--"):
		piece = strings.TrimRight(piece, "\r\n")
		switch {
		case last:
			return piece, true
		case strings.Contains(piece, "/*") || strings.Contains(piece, "*/"):
			return " ", true
		}
		return "/*" + strings.TrimRight(piece[2:], " ") + " */ ", true
	case !strings.ContainsAny(piece, "\r\n"):
		return piece, true
	case t.Kind == statement.TokenComment:
		return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(piece), true
	case t.Kind == statement.TokenText:
		return "e'" + strings.NewReplacer(`\`, `\\`, "'", "''", "\n", `\n`, "\r", `\r`).Replace(t.Value) + "'", true
	}
	return "", false
}
