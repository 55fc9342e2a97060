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

	"cordwood/router/access/token"
	"cordwood/router/query/statement"
)

const (
	// maxHistory is the number of statements that are kept, in memory and in the file.
	maxHistory = liner.HistoryLimit
	// maxEntry is the maximum length of a kept statement, in bytes.
	maxEntry = 32 << 10
	// maxHistoryFile is the number of bytes that are read from the end of the file.
	maxHistoryFile = 4 << 20
)

// history keeps the user's statements, including those of earlier prompts. Each is one line of the
// file, which other users may not read. An empty path keeps them only in memory.
type history struct {
	path string
	last string
}

// historyFile returns the path of the history file, or "" if there is no home folder.
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

// load passes the entries of the file to add, the oldest first. A file with many more entries than
// are kept is rewritten without the older ones.
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
		return nil, false, fmt.Errorf("%s is not a regular file", f.Name())
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
	f, err := os.CreateTemp(filepath.Dir(h.path), ".cordwood_history-") // it has mode 0600
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

// save appends an entry to the file at once, so that neither a killed prompt nor a concurrent one
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
	err = f.Chmod(0o600) // another program may have created the file so that others can read it
	if err == nil {
		_, err = f.WriteString(entry + "\n")
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("saving the history: %w", err)
	}
	return nil
}

// secretWords are parts of words that mark a text as containing a secret.
var secretWords = []string{"password", "passwd", "secret", "credential", "api_key", "apikey", "private_key", "bearer "}

// historyEntry returns a text of statements, which may have several lines, as one line with the
// same meaning. keep is false for a text that must not be remembered: it begins with a space, seems
// to contain a secret, or cannot be written on one line.
func historyEntry(typed string) (entry string, keep bool) {
	if strings.HasPrefix(typed, " ") {
		return "", false
	}
	lower := strings.ToLower(typed)
	if token.Hide(typed) != typed {
		return "", false
	}
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
	// The prompt cannot show control characters.
	return entry, entry != "" && len(entry) <= maxEntry &&
		!strings.ContainsFunc(entry, func(r rune) bool { return r < ' ' && r != '\t' })
}

// onOneLine returns the text of a token without line ends, or false if it needs them.
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
