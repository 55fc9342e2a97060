package sql

import (
	"slices"
	"strings"
	"time"

	"cordwood/router/query/statement"
	"cordwood/shard/query/engine/sql"
)

// completer completes input at the prompt: commands, keywords, functions, and the names that the
// server has.
type completer struct {
	names   catalogNames
	db      func() string // the default database
	pending func() string // the previous lines of the statement
}

// catalogNames provides the names of a server.
type catalogNames interface {
	databases() []string
	tables(db string) []string
	columns(db, table string) []string
}

// sqlKeywords are the keywords of statements; those that begin a statement come first.
var (
	sqlVerbs = strings.Fields("SELECT WITH FROM SHOW DESCRIBE EXPLAIN CREATE ALTER DROP TRUNCATE INSERT DELETE KILL SET " +
		"USE VALUES SUMMARIZE PIVOT UNPIVOT")
	sqlKeywords = strings.Fields(`ADD ALL ANALYZE AND ANTI ANY AS ASC ASOF BETWEEN BY CASCADE CASE CAST COLUMN COLUMNS ` +
		`CREATE CROSS CURRENT DATABASE
		DATABASES DAY DEFAULT DELETE DESC DESCRIBE DISTINCT DROP ELSE END ENGINE ESCAPE EXCEPT EXCLUDE EXISTS EXPLAIN ` +
		`EXTRACT FALSE FILTER FIRST
		FOLLOWING FROM FULL FULLTEXT GROUP HAVING HOUR IF ILIKE IN INDEX INNER INSERT INTERSECT INTERVAL INTO INVERTED IS ` +
		`JOIN KEY LAST LATERAL LEFT LIKE LIMIT
		MINUTE MODIFY MONTH NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT PRECEDING PRIMARY QUALIFY ` +
		`RANGE RECURSIVE RENAME
		REPLACE RIGHT ROWS SAMPLE SECOND SELECT SEMI SET SHOW SIMILAR SKIPPING TABLE TABLES THEN TIME TIMESTAMP TO TRUE ` +
		`TRUNCATE UNBOUNDED UNION
		UNNEST UNSET USING VALUES WEEK WHEN WHERE WINDOW WITH YEAR` + " " + strings.Join(sqlTypes, " "))
)

// A table's name follows the words in afterTable, a database's the words in afterDatabase.
var (
	afterTable    = []string{"FROM", "JOIN", "INTO", "TABLE", "DESCRIBE", "DESC", "TRUNCATE"}
	afterDatabase = []string{"DATABASE", "USE", "SCHEMA"}
)

// complete completes the word that ends at a position, counted in characters, of a line.
func (c *completer) complete(line string, pos int) (head string, completions []string, tail string) {
	runes := []rune(line)
	head, tail = string(runes[:pos]), string(runes[pos:])
	if words := strings.TrimLeft(head, " "); strings.HasPrefix(words, `\`) {
		start, list := c.command(words)
		return head[:len(head)-len(words)+start], list, tail
	}
	back, list := c.sql(c.pending() + head)
	start := max(0, len(head)-back)
	head, list = keepTyped(head[:start], head[start:], list)
	return head, list, tail
}

// command completes a line that begins with a backslash; start is the start of the completed word.
func (c *completer) command(line string) (start int, list []string) {
	name, argument, more := strings.Cut(line, " ")
	if !more {
		for _, pc := range promptCommands {
			list = append(list, pc.name)
		}
		slices.Sort(list)
		return 0, matching(line, list)
	}
	start = len(line) - len(argument)
	pc := findCommand(name)
	if pc == nil || pc.arguments == nil {
		return start, nil
	}
	// The others take one name, perhaps with spaces.
	if i := strings.LastIndexByte(argument, ' '); i >= 0 && name == `\pset` {
		start, argument = start+i+1, argument[i+1:]
	}
	return start, pc.arguments(c, argument)
}

// sql completes the last word of a text; back is the length of that word, in bytes.
func (c *completer) sql(text string) (back int, list []string) {
	tokens := slices.DeleteFunc(statement.Tokens(text), func(t statement.Token) bool {
		return t.Kind == statement.TokenComment && t.To < len(text)
	})
	for i := len(tokens) - 1; i >= 0; i-- { // only of the last statement
		if tokens[i].Kind == statement.TokenSymbol && tokens[i].Value == ";" {
			tokens = tokens[i+1:]
			break
		}
	}
	typed := ""
	if n := len(tokens); n > 0 && tokens[n-1].To == len(text) {
		switch last := tokens[n-1]; {
		case last.Kind == statement.TokenWord:
			typed, tokens = last.Value, tokens[:n-1]
		case last.Kind == statement.TokenUnfinished && text[last.From] == '"':
			typed, tokens = text[last.From:], tokens[:n-1]
		case last.Kind == statement.TokenUnfinished && text[last.From] == '\'':
			typed = text[last.From:]
			return len(typed), options(typed, tokens[:n-1])
		case last.Kind == statement.TokenUnfinished || last.Kind == statement.TokenComment:
			return 0, nil // within a quoted text
		}
	}
	if list := options(typed, tokens); list != nil {
		return len(typed), list
	}
	return len(typed), c.candidates(typed, tokens)
}

// candidates returns the completions of typed after tokens.
func (c *completer) candidates(typed string, tokens []statement.Token) []string {
	n := len(tokens)
	before := func(i int) statement.Token {
		if i >= n {
			return statement.Token{Kind: statement.TokenComment}
		}
		return tokens[n-1-i]
	}
	last := before(0)
	tables := c.mentioned(tokens)
	if last.Kind == statement.TokenSymbol && last.Value == "." && isName(before(1)) {
		return matching(typed, quoteNames(c.inside(before(1).Value, before(2), tables)))
	}
	if list, ok := c.alterations(typed, tokens); ok {
		return list
	}
	switch {
	case n == 0:
		return matchingWords(typed, sqlVerbs)
	case n == 1 && isWord(last, "SET"):
		return matchingWords(typed, []string{"TIME ZONE"})
	case isWord(last, afterDatabase...):
		return matching(typed, quoteNames(c.names.databases()))
	case isWord(last, afterTable...), last.Kind == statement.TokenSymbol && last.Value == "," && listsTables(tokens):
		return c.tablesBehind(typed, last)
	}
	if list, ok := followers[strings.ToUpper(last.Value)]; ok && last.Kind == statement.TokenWord {
		return matchingWords(typed, list)
	}
	return c.expressions(typed, tables)
}

// expressions returns the completions of a column, a keyword or a function.
func (c *completer) expressions(typed string, tables []mention) []string {
	var list []string
	for _, t := range tables {
		if t.alias != "" {
			list = append(list, t.alias)
		}
		list = append(list, quoteNames(c.names.columns(t.db, t.table))...)
	}
	list = matching(typed, list)
	if typed != "" { // without a letter, there would be hundreds
		list = append(list, matchingWords(typed, sqlKeywords)...)
		for _, name := range matchingWords(typed, sql.FunctionNames()) {
			list = append(list, name+"(")
		}
	}
	return list
}

// followers lists the words that may follow these.
var followers = map[string][]string{
	"SHOW":     strings.Fields("DATABASES TABLES CREATE COLUMNS FULL"),
	"CREATE":   strings.Fields("TABLE DATABASE"),
	"DROP":     strings.Fields("TABLE DATABASE COLUMN"),
	"ALTER":    strings.Fields("TABLE DATABASE"),
	"TRUNCATE": {"TABLE"},
	"DESCRIBE": {"TABLE"},
	"INSERT":   {"INTO"},
	"DELETE":   {"FROM"},
	"KILL":     {"QUERY"},
	"ORDER":    {"BY"},
	"GROUP":    {"BY"},
	"EXPLAIN":  strings.Fields("ANALYZE SELECT WITH"),
}

func isName(t statement.Token) bool {
	return t.Kind == statement.TokenWord || t.Kind == statement.TokenName
}

func isWord(t statement.Token, words ...string) bool {
	return t.Kind == statement.TokenWord &&
		slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(t.Value, w) })
}

// listsTables reports whether the comma at the end stands between tables.
func listsTables(tokens []statement.Token) bool {
	for _, t := range slices.Backward(tokens) {
		switch {
		case isWord(t, "FROM"):
			return true
		case t.Kind == statement.TokenWord && slices.Contains(sqlKeywords, strings.ToUpper(t.Value)) && !isWord(t, "AS"):
			return false
		}
	}
	return false
}

// mention is a table that a statement uses.
type mention struct{ db, table, alias string }

// inside returns the names that may follow NAME and a dot, where before is the token before NAME:
// tables of a database, or columns of a mentioned table.
func (c *completer) inside(name string, before statement.Token, mentioned []mention) []string {
	if isWord(before, afterTable...) || isWord(before, "DATABASE") {
		return c.names.tables(name)
	}
	var list []string
	for _, t := range mentioned {
		if strings.EqualFold(t.alias, name) || t.alias == "" && strings.EqualFold(t.table, name) {
			list = append(list, c.names.columns(t.db, t.table)...)
		}
	}
	if list == nil {
		list = c.names.tables(name)
	}
	return list
}

// tablesBehind returns the completions of a table's name after a word or a comma.
func (c *completer) tablesBehind(typed string, last statement.Token) []string {
	list := quoteNames(c.names.tables(c.db()))
	for _, db := range quoteNames(c.names.databases()) {
		list = append(list, db+".")
	}
	if isWord(last, "TABLE", "INTO") {
		list = append(list, "IF")
	}
	return append(matching(typed, list), matchingWords(typed, followers[strings.ToUpper(last.Value)])...)
}

// maxMentioned is the maximum number of tables of a statement whose columns are requested.
const maxMentioned = 8

// mentioned returns the tables in tokens, with their aliases.
func (c *completer) mentioned(tokens []statement.Token) []mention {
	var out []mention
	for i := 0; i < len(tokens) && len(out) < maxMentioned; i++ {
		isComma := tokens[i].Kind == statement.TokenSymbol && tokens[i].Value == "," && listsTables(tokens[:i+1])
		if !isWord(tokens[i], afterTable...) && !isComma || i+1 >= len(tokens) || !isName(tokens[i+1]) {
			continue
		}
		m := mention{db: c.db(), table: tokens[i+1].Value}
		i++
		if i+2 < len(tokens) && tokens[i+1].Value == "." && isName(tokens[i+2]) {
			m.db, m.table = m.table, tokens[i+2].Value
			i += 2
		}
		m.alias = aliasOf(tokens[i+1:])
		out = append(out, m)
	}
	return out
}

// aliasOf returns the alias that the tokens after the name of a table give it, or "".
func aliasOf(tokens []statement.Token) string {
	if len(tokens) > 0 && isWord(tokens[0], "AS") {
		tokens = tokens[1:]
	}
	if len(tokens) == 0 || !isName(tokens[0]) ||
		tokens[0].Kind != statement.TokenName && slices.Contains(sqlKeywords, strings.ToUpper(tokens[0].Value)) {
		return ""
	}
	return tokens[0].Value
}

const (
	// namesFresh is the time for which names of the server are cached.
	namesFresh = 30 * time.Second
	// namesWait is the maximum time that the prompt waits for names.
	namesWait = 400 * time.Millisecond
	// namesAway is the time for which no names are requested from a server that did not answer in time.
	namesAway = 10 * time.Second
	// maxNamed is the maximum number of cached lists of names.
	maxNamed = 100
)
