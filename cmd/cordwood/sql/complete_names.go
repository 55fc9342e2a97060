package sql

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
)

// quoteNames quotes names where statements need that.
func quoteNames(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		plain := name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_") == "" &&
			(name[0] < '0' || name[0] > '9')
		if !plain || slices.Contains(sqlKeywords, strings.ToUpper(name)) {
			out[i] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
	}
	return out
}

// matching returns the names that begin with the typed text, in the same case if there are any, otherwise in any
// case. The letters of a quoted name match without the quotes, too.
func matching(typed string, names []string) []string {
	var exact, folded []string
	for _, name := range names {
		bare := name
		if !strings.HasPrefix(typed, `"`) {
			bare = strings.TrimPrefix(name, `"`)
		} else if !strings.HasPrefix(name, `"`) {
			bare = `"` + name + `"`
			name = bare
		}
		switch {
		case strings.HasPrefix(bare, typed):
			exact = append(exact, name)
		case len(bare) >= len(typed) && strings.EqualFold(bare[:len(typed)], typed):
			folded = append(folded, name)
		}
	}
	if exact == nil {
		exact = folded
	}
	slices.SortStableFunc(exact, cmp.Compare)
	exact = slices.Compact(exact)
	return exact[:min(len(exact), cli.MaxCompletions)]
}

// matchingWords returns the keywords or functions that begin with the typed text, in its case.
func matchingWords(typed string, words []string) []string {
	lower := typed != "" && typed == strings.ToLower(typed)
	var out []string
	for _, w := range words {
		if len(w) < len(typed) || !strings.EqualFold(w[:len(typed)], typed) {
			continue
		}
		if lower {
			w = strings.ToLower(w)
		}
		out = append(out, w)
	}
	return out
}

// fileNames completes the name of a file.
func fileNames(typed string) []string {
	dir, base := filepath.Split(typed)
	read := dir
	if read == "" {
		read = "."
	}
	f, err := os.Open(expandHome(read))
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(10 * cli.MaxCompletions)
	var list []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || base == "" && strings.HasPrefix(name, ".") {
			continue
		}
		if info, err := os.Stat(filepath.Join(expandHome(read), name)); err == nil && info.IsDir() {
			name += "/"
		}
		list = append(list, dir+name)
	}
	slices.Sort(list)
	return list[:min(len(list), cli.MaxCompletions)]
}

// expandHome replaces ~ at the beginning of a path by the user's home folder.
func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			return home + rest
		}
	}
	return path
}

// serverNames requests names from the server, and caches them for a while.
type serverNames struct {
	ctx    context.Context
	client *client.Client // tries once
	now    func() time.Time

	lists map[string]namesList // by the statement that asks for them
	away  time.Time            // when the server last failed to answer
}

type namesList struct {
	names []string
	at    time.Time
}

// forget clears the cache: a statement may have changed the names.
func (s *serverNames) forget() { s.lists = nil }

func (s *serverNames) databases() []string {
	return s.list("SELECT schema_name FROM information_schema.schemata ORDER BY 1")
}

func (s *serverNames) tables(db string) []string {
	return s.list("SELECT table_name FROM information_schema.tables WHERE table_schema = " + cli.Literal(db) +
		" ORDER BY 1")
}

func (s *serverNames) columns(db, table string) []string {
	return s.list("SELECT column_name FROM information_schema.columns WHERE table_schema = " + cli.Literal(db) +
		" AND lower(table_name) = lower(" + cli.Literal(table) + ") ORDER BY ordinal_position")
}

// list returns the first column of a statement's answer. If the server does not answer at once, it
// returns the cached list.
func (s *serverNames) list(sql string) []string {
	now := s.now()
	known := s.lists[sql]
	if !known.at.IsZero() && now.Sub(known.at) < namesFresh || now.Sub(s.away) < namesAway {
		return known.names
	}
	ctx, cancel := context.WithTimeout(s.ctx, namesWait)
	defer cancel()
	names, err := cli.FirstColumn(ctx, s.client, sql)
	if err != nil {
		s.away = s.now()
		return known.names
	}
	if s.lists == nil || len(s.lists) >= maxNamed {
		s.lists = make(map[string]namesList)
	}
	s.lists[sql] = namesList{names, s.now()}
	return names
}
