package sql

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cordwood/router/query/statement"
)

var (
	// sqlTypes are the column types that completion offers.
	sqlTypes = strings.Fields("BIGINT BINARY BOOLEAN DATE DOUBLE FLOAT64 INT64 JSON STRING TIMESTAMP_MS TIMESTAMP_NS " +
		"UINT64 VARCHAR")
	indexKinds = []string{"FULLTEXT INDEX", "INVERTED INDEX", "SKIPPING INDEX"}
)

// alteredTable splits ALTER TABLE [DATABASE.]TABLE off the tokens of a statement. ok is false for others.
func (c *completer) alteredTable(tokens []statement.Token) (db, table string, rest []statement.Token, ok bool) {
	if len(tokens) < 3 || !isWord(tokens[0], "ALTER") || !isWord(tokens[1], "TABLE") || !isName(tokens[2]) {
		return "", "", nil, false
	}
	if db, table, rest = c.db(), tokens[2].Value, tokens[3:]; len(rest) == 0 || rest[0].Value != "." {
		return db, table, rest, true
	}
	if len(rest) < 2 || !isName(rest[1]) {
		return "", "", nil, false
	}
	return table, rest[1].Value, rest[2:], true
}

// alterations returns the completions after ALTER TABLE and a table. ok is false elsewhere, and
// where anything may follow.
func (c *completer) alterations(typed string, tokens []statement.Token) (list []string, ok bool) {
	db, table, rest, ok := c.alteredTable(tokens)
	if !ok {
		return nil, false
	}
	if len(rest) == 0 {
		return matchingWords(typed, strings.Fields("ADD DROP MODIFY RENAME SET UNSET")), true
	}
	verb := strings.ToUpper(rest[0].Value)
	rest = rest[1:]
	if len(rest) == 0 {
		return matchingWords(typed, alteredThings[verb]), alteredThings[verb] != nil
	}
	if !isWord(rest[0], "COLUMN") || !slices.Contains([]string{"DROP", "MODIFY", "RENAME"}, verb) {
		return nil, false
	}
	if rest = rest[1:]; verb == "DROP" && len(rest) == 2 && isWord(rest[0], "IF") && isWord(rest[1], "EXISTS") {
		rest = nil
	}
	if len(rest) == 0 {
		return matching(typed, quoteNames(c.names.columns(db, table))), true
	}
	return changesOfColumn(typed, verb, rest[1:])
}

// alteredThings lists the words after each verb of ALTER TABLE.
var alteredThings = map[string][]string{
	"ADD":    {"COLUMN"},
	"DROP":   {"COLUMN"},
	"MODIFY": {"COLUMN"},
	"RENAME": {"COLUMN", "TO"},
}

// changesOfColumn returns the completions after MODIFY COLUMN or RENAME COLUMN, a column, and rest.
func changesOfColumn(typed, verb string, rest []statement.Token) (list []string, ok bool) {
	switch {
	case len(rest) == 0 && verb == "MODIFY":
		return matchingWords(typed, append([]string{"SET", "UNSET"}, sqlTypes...)), true
	case len(rest) == 0 && verb == "RENAME":
		return matchingWords(typed, []string{"TO"}), true
	case len(rest) == 1 && verb == "MODIFY" && isWord(rest[0], "SET", "UNSET"):
		return matchingWords(typed, indexKinds), true
	}
	return nil, false
}

// keepTyped prepares completions for the prompt. The prompt replaces the typed text by the completions' common
// prefix, which depends on case: FROM and from_host have none, so FR would be deleted. keepTyped returns completions,
// and the text before them, with which no typed text is deleted.
func keepTyped(head, typed string, list []string) (newHead string, kept []string) {
	if len(list) < 2 || len(commonPrefix(list, false)) >= len(typed) {
		return head, list
	}
	// A common prefix that ignores case continues in the case of the typed text.
	shared := commonPrefix(list, true)
	if len(shared) < len(typed) || !strings.EqualFold(shared[:len(typed)], typed) {
		shared = typed // the offered name has quotes that were not typed
	}
	more := shared[len(typed):]
	switch {
	case typed == strings.ToLower(typed):
		more = strings.ToLower(more)
	case typed == strings.ToUpper(typed):
		more = strings.ToUpper(more)
	}
	if shared = typed + more; commonPrefix(list, false) == "" {
		return head + shared, list // the list is shown unchanged
	}
	kept = make([]string, 0, len(list))
	for _, name := range list {
		if len(name) >= len(shared) && strings.EqualFold(name[:len(shared)], shared) {
			kept = append(kept, shared+name[len(shared):])
		} else {
			kept = append(kept, shared) // the typed text differs in its quotes
		}
	}
	return head, kept
}

// commonPrefix returns the common prefix of a list of names, in the case of the first.
func commonPrefix(list []string, fold bool) string {
	common := list[0]
	for _, s := range list[1:] {
		end := 0
		for end < len(common) && end < len(s) {
			a, size := utf8.DecodeRuneInString(common[end:])
			b, other := utf8.DecodeRuneInString(s[end:])
			if a != b && (!fold || size != other || unicode.ToLower(a) != unicode.ToLower(b)) {
				break
			}
			end += size
		}
		common = common[:end]
	}
	return common
}
