package statement

import (
	"slices"
	"strings"
)

// Filter is the condition of a query on the columns table_schema and table_name, as far as it is certain. Rows
// that do not match are not in the answer, and even rows that match may be missing from it.
type Filter struct{ Schema, Table *Match }

// Match is a condition on a name. A nil Match accepts all names.
type Match struct {
	names []string
	like  *string
}

// Names returns the matching names, sorted and without duplicates. It returns false if they cannot be listed.
func (m *Match) Names() ([]string, bool) {
	if m == nil || m.like != nil {
		return nil, false
	}
	return m.names, true
}

// Fits reports whether the name matches.
func (m *Match) Fits(name string) bool {
	switch {
	case m == nil:
		return true
	case m.like != nil:
		return Like(*m.like, name)
	}
	return slices.Contains(m.names, name)
}

// Words that show that a query is more than SELECT … FROM t WHERE a AND b, or that change what AND joins.
var notPlainWords = strings.Fields(
	"WITH UNION INTERSECT EXCEPT JOIN OR NOT CASE BETWEEN LATERAL PIVOT UNPIVOT COLLATE SEMI ANTI ASOF POSITIONAL")

// afterWhere are the words that end a WHERE clause.
var afterWhere = strings.Fields("GROUP ORDER LIMIT OFFSET HAVING WINDOW QUALIFY USING FETCH")

// TableFilter returns the filter of a query. It understands SELECT … FROM one table WHERE with conditions joined by
// AND, in the forms column = 'text', column IN ('text', …) and column LIKE 'pattern'. It ignores everything else.
func TableFilter(sql string) Filter {
	tokens := plainWhere(sql)
	var f Filter
	for _, c := range conjuncts(tokens) {
		column, m := condition(c)
		switch {
		case m == nil:
		case strings.EqualFold(column, "table_schema") && f.Schema == nil:
			f.Schema = m
		case strings.EqualFold(column, "table_name") && f.Table == nil:
			f.Table = m
		}
	}
	return f
}

// plainWhere returns the tokens of the WHERE clause of a plain query, or none for other queries.
func plainWhere(sql string) []token {
	l := lexer{src: sql}
	var p plainSelect
	for n := 0; ; n++ {
		t, err := l.next()
		if err != nil || n == 0 && !t.is("SELECT") {
			return nil
		}
		if t.kind == eof {
			return p.where
		}
		if !p.take(t) {
			return nil
		}
	}
}

// plainSelect follows the tokens of a SELECT from one table.
type plainSelect struct {
	where                         []token // between WHERE and the next clause
	depth, selects, froms, wheres int
	ended                         bool // the clause WHERE
}

// take handles the next token. It returns false if the statement has another form.
func (p *plainSelect) take(t token) bool {
	p.depth += t.nesting()
	wheres := p.wheres
	if t.kind == word && !p.count(strings.ToUpper(t.val)) {
		return false
	}
	switch {
	case p.selects > 1 || p.froms > 1 || p.wheres > 1:
		return false
	case p.froms == 1 && p.wheres == 0 && (t.sym(",") || t.sym("(")):
		return false // more than one table, or a table function
	case wheres == 1 && !p.ended:
		p.where = append(p.where, t)
	}
	return true
}

// count counts a keyword. It returns false for a keyword that the form does not have.
func (p *plainSelect) count(up string) bool {
	switch {
	case slices.Contains(notPlainWords, up):
		return false
	case up == "SELECT":
		p.selects++
	case up == "FROM":
		p.froms++
	case up == "WHERE" && p.depth == 0:
		p.wheres++
	case p.depth == 0 && p.wheres > 0 && slices.Contains(afterWhere, up):
		p.ended = true
	}
	return true
}

// conjuncts splits a clause at each AND outside parentheses.
func conjuncts(tokens []token) [][]token {
	var out [][]token
	depth, from := 0, 0
	for i, t := range tokens {
		depth += t.nesting()
		if depth == 0 && t.is("AND") {
			out = append(out, tokens[from:i])
			from = i + 1
		}
	}
	return append(out, tokens[from:])
}

// condition parses a condition in a form that TableFilter understands; m is nil for other conditions.
func condition(c []token) (column string, m *Match) {
	if len(c) == 3 && c[0].kind == text && c[1].sym("=") && c[2].names() {
		return c[2].val, &Match{names: []string{c[0].val}}
	}
	if len(c) >= 5 && c[0].names() && c[1].sym(".") {
		c = c[2:]
	}
	if len(c) < 3 || !c[0].names() {
		return "", nil
	}
	return c[0].val, comparison(c[1:])
}

// names reports whether a token may be a column name.
func (t token) names() bool { return t.kind == word || t.kind == quoted }

// comparison parses the part of a condition after the column. If TableFilter does not support it, m is nil.
func comparison(c []token) (m *Match) {
	if len(c) == 2 && c[1].kind == text {
		switch {
		case c[0].sym("="):
			return &Match{names: []string{c[1].val}}
		case c[0].is("LIKE") && !strings.Contains(c[1].val, `\`):
			return &Match{like: &c[1].val}
		}
	}
	if c[0].is("IN") && c[1].sym("(") && c[len(c)-1].sym(")") {
		if names, ok := listed(c[2 : len(c)-1]); ok {
			return &Match{names: names}
		}
	}
	return nil
}

// listed parses texts separated by commas, and returns them sorted.
func listed(c []token) (names []string, ok bool) {
	for i, t := range c {
		switch {
		case i%2 == 0 && t.kind == text:
			names = append(names, t.val)
		case i%2 == 1 && t.sym(","):
		default:
			return nil, false
		}
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// nesting returns how many parentheses a token opens, or closes if negative.
func (t token) nesting() int {
	switch {
	case t.sym("("), t.sym("["), t.sym("{"):
		return 1
	case t.sym(")"), t.sym("]"), t.sym("}"):
		return -1
	}
	return 0
}

// Like reports whether the name matches the LIKE pattern: % is any text, _ any character, and a backslash escapes
// the next character.
func Like(pattern, name string) bool {
	p, s := []rune(pattern), []rune(name)
	i, j := 0, 0
	star, mark := -1, 0 // the last % seen, and the position at which the text after it was tried
	for j < len(s) {
		switch {
		case i < len(p) && p[i] == '%':
			star, mark = i, j
			i++
			continue
		case i+1 < len(p) && p[i] == '\\' && p[i+1] == s[j]:
			i += 2
			j++
			continue
		case i < len(p) && p[i] != '\\' && (p[i] == '_' || p[i] == s[j]):
			i++
			j++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = star+1, mark
	}
	for i < len(p) && p[i] == '%' {
		i++
	}
	return i == len(p)
}

// plainWords are words in a query that are not names.
var plainWords = strings.Fields("SELECT FROM WHERE AND OR NOT LIKE ILIKE IN IS NULL ORDER GROUP BY ASC DESC NULLS " +
	"FIRST LAST LIMIT OFFSET COUNT MIN MAX DISTINCT")

// OnlyUses reports whether a query only names the listed columns and, as database.table, the table. In particular,
// it does not select all columns with *. False means only that this is not certain.
func OnlyUses(sql string, names []string) bool {
	l := lexer{src: sql}
	var before [2]token // the last two
	for n := 0; ; n++ {
		t, err := l.next()
		switch {
		case err != nil, n == 0 && !t.is("SELECT"), t.sym("#"):
			// FROM t alone means all columns, and #1 is the first one.
			return false
		case t.kind == eof:
			return true
		case t.sym("*"):
			if !before[1].sym("(") || !before[0].is("COUNT") {
				return false
			}
		case t.kind == quoted, t.kind == word && !slices.Contains(plainWords, strings.ToUpper(t.val)):
			name := t.val
			if before[1].sym(".") {
				name = before[0].val + "." + name
			} else if next := l; func() bool { n, err := next.next(); return err == nil && n.sym(".") }() {
				break // the first half of a name
			}
			if !containsFold(names, name) {
				return false
			}
		}
		before[0], before[1] = before[1], t
	}
}
