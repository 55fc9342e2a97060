package sql

import "strings"

// DuckDB's arrows bind more loosely than all other operators: it reads data->>'a' = 'x' AND b as
// data->>('a' = 'x' AND b). Here they bind as in PostgreSQL: more tightly than comparisons, and
// also more tightly than || and arithmetic, which PostgreSQL does not apply to JSON. To get this,
// chains of arrows are put in parentheses. Within the parentheses DuckDB reads them as meant.

// lambdaFunctions take a lambda function, such as x -> x + 1, as their second argument.
// TestLambdaFunctions compares the list with DuckDB's.
var lambdaFunctions = map[string]bool{
	"list_transform": true, "list_apply": true, "array_transform": true, "array_apply": true, "apply": true,
	"list_filter": true, "array_filter": true, "filter": true,
	"list_reduce": true, "array_reduce": true, "reduce": true,
}

// separators are words that are not part of an operand, and are not functions if a parenthesis
// follows.
var separators = func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(`all analyse analyze and any anti as asc asof asymmetric between both by check collate
		cross default desc describe distinct do else escape except exclude exists fetch for from full glob group having ` +
		`ilike in
		inner intersect into is isnull join lateral leading like limit natural not notnull offset on only or order over ` +
		`partition
		pivot positional qualify rename returning select semi show similar some summarize symmetric table then to trailing ` +
		`union
		unpivot using values variadic when where window with within at`) {
		m[w] = true
	}
	return m
}()

// callSuffixes are words that stand between a call and a parenthesis that belongs to it.
var callSuffixes = map[string]bool{"over": true, "filter": true}

// arrowScan scans the tokens of a statement once and records where operands begin.
type arrowScan struct {
	sql    string
	levels []arrowLevel
	edits  []Edit
	// last is the kind of the last token, lastWord its word if it was a bare word, lastEnd the
	// position after it.
	last     arrowToken
	lastWord string
	lastEnd  int
}

// arrowLevel is the state between a pair of brackets, or between CASE and END.
type arrowLevel struct {
	// operand is where the current operand begins, or -1 if there is none.
	operand int
	// chain is where the current chain of arrows begins, or -1 if there is none.
	chain int
	// argument is the number of commas so far. at is where the current argument begins, or -1 if it
	// has not begun.
	argument, at int
	// lambda is the number of the argument that may be a lambda function, or -1 if none may.
	lambda int
	// isCase means that END closes the level.
	isCase bool
}

type arrowToken uint8

const (
	nothing    arrowToken = iota // an operator, a comma or a separating word; an operand may begin
	aValue                       // the end of what may be a whole operand
	aDot                         // a dot after a value
	aCast                        // ::
	typeName                     // a word after ::, which may continue as in DOUBLE PRECISION
	arrowFirst                   // an arrow, or a sign after one; its right operand begins
)

// bindArrows returns the edits that put parentheses around chains of arrows in sql. sql must be
// normalized.
func bindArrows(sql string) []Edit {
	if !strings.Contains(sql, "->") {
		return nil
	}
	s := &arrowScan{sql: sql, levels: []arrowLevel{newArrowLevel(-1)}}
	for i := 0; i < len(sql); {
		i = s.token(i)
	}
	s.endChain(len(sql))
	return s.edits
}

func newArrowLevel(lambda int) arrowLevel {
	return arrowLevel{operand: -1, chain: -1, at: -1, lambda: lambda}
}

func (s *arrowScan) top() *arrowLevel { return &s.levels[len(s.levels)-1] }

// token reads the token at i and returns where it ends.
func (s *arrowScan) token(i int) int {
	sql := s.sql
	if isSpace(sql[i]) {
		return i + 1
	}
	if end := skipQuoted(sql, i); end > i {
		if sql[i] != '\'' || s.last != aValue || s.lastWord == "" {
			s.begin(i) // otherwise it is one value with the previous word, as in JSON '{}' and E'…'
		}
		s.end(aValue, end)
		return end
	}
	c := sql[i]
	switch {
	case IsNameByte(c):
		return s.word(i)
	case c == '(' || c == '[' || c == '{':
		s.open(i)
	case c == ')' || c == ']' || c == '}':
		s.close(i, false)
	case c == ',':
		s.separate(i)
		s.top().argument++
		s.top().at = -1
	case strings.HasPrefix(sql[i:], "::"):
		s.set(aCast, "", i+2)
		return i + 2
	case c == '.' && s.last == aValue:
		s.set(aDot, "", i+1)
	case strings.IndexByte(operatorBytes, c) >= 0:
		return s.operator(i)
	default:
		s.separate(i)
	}
	return i + 1
}

// lastToken returns the end of the token before i, without the spaces between them.
func lastToken(sql string, i int) int {
	for i > 0 && isSpace(sql[i-1]) {
		i--
	}
	return i
}

func (s *arrowScan) set(t arrowToken, word string, end int) {
	s.last, s.lastWord, s.lastEnd = t, word, end
}

// end records that a part of an operand ends.
func (s *arrowScan) end(t arrowToken, end int) { s.set(t, "", end) }

// begin records that something begins at i that may be an operand or continue one.
func (s *arrowScan) begin(i int) {
	l := s.top()
	switch s.last {
	case aDot, aCast, arrowFirst:
		return // the operand continues
	case aValue, typeName:
		s.endChain(s.lastEnd) // an alias, or something that only the parser understands
	}
	l.operand = i
	if l.at < 0 {
		l.at = i
	}
}

// endChain adds the parentheses around the current chain, if there is one.
func (s *arrowScan) endChain(end int) {
	l := s.top()
	if l.chain >= 0 && (s.last == aValue || s.last == typeName) {
		s.edits = append(s.edits, Edit{From: l.chain, To: l.chain, Text: "("}, Edit{From: end, To: end, Text: ")"})
	}
	l.chain = -1
}

// separate records that the token at i is not part of an operand.
func (s *arrowScan) separate(i int) {
	s.endChain(s.lastEnd)
	l := s.top()
	l.operand = -1
	if l.at < 0 {
		l.at = i
	}
	s.set(nothing, "", i+1)
}

// word reads a bare word or a number.
func (s *arrowScan) word(i int) int {
	w, end := Word(s.sql, i)
	if c := s.sql[i]; c >= '0' && c <= '9' {
		if k := end; k < len(s.sql) && s.sql[k] == '.' { // 1.5
			_, end = Word(s.sql, k+1)
			end = max(end, k+1)
		}
		s.begin(i)
		s.end(aValue, end)
		return end
	}
	switch {
	case s.last == aDot:
		s.set(aValue, w, end)
	case s.last == aCast, s.last == typeName && typeContinues[w]:
		s.set(typeName, w, end)
	case w == "case":
		s.begin(i)
		l := newArrowLevel(-1)
		l.isCase = true
		s.levels = append(s.levels, l)
		s.set(nothing, "", end)
	case w == "end" && s.top().isCase:
		s.close(i, true)
		s.lastEnd = end
	case callSuffixes[w] && s.last == aValue && s.lastEnd > 0 && s.sql[s.lastEnd-1] == ')':
		s.set(aValue, w, end) // a parenthesis that follows continues the call
	case separators[w] && !s.names(w, end):
		s.separate(i)
		s.lastEnd = end
	default:
		s.begin(i)
		s.set(aValue, w, end)
	}
	return end
}

// names reports whether a separating word that ends at end is used as a name: a word before an
// arrow is, and at unless it is AT TIME ZONE.
func (s *arrowScan) names(w string, end int) bool {
	next := SkipSpace(s.sql, end)
	if strings.HasPrefix(s.sql[next:], "->") {
		return true
	}
	zone, _ := Word(s.sql, next)
	return w == "at" && zone != "time"
}

// typeContinues are the words that may follow the first word of a type.
var typeContinues = map[string]bool{
	"precision": true, "varying": true, "character": true, "char": true, "with": true,
	"without": true, "time": true, "zone": true,
}

// open reads an opening bracket.
func (s *arrowScan) open(i int) {
	l := s.top()
	lambda := -1
	follows := s.last == aValue || s.last == typeName // a call, a subscript, or the arguments of a type
	if follows && s.sql[i] == '(' {
		switch {
		case s.lastWord == "columns", lambdaFunctions[s.lastWord] && s.chained():
			lambda = 0
		case lambdaFunctions[s.lastWord]:
			lambda = 1
		}
	}
	if !follows || s.sql[i] == '{' && s.lastWord != "map" {
		if s.sql[i] == '(' && l.lambda >= 0 && l.lambda == l.argument && l.at < 0 {
			lambda = 0 // a lambda function in parentheses
		}
		s.begin(i)
	}
	s.levels = append(s.levels, newArrowLevel(lambda))
	s.set(nothing, "", i+1)
}

// chained reports whether the previous word is called as value.word(…).
func (s *arrowScan) chained() bool {
	at := lastToken(s.sql, s.lastEnd-len(s.lastWord))
	return at > 0 && s.sql[at-1] == '.'
}

// close reads a closing bracket, or the END of a CASE.
func (s *arrowScan) close(i int, isCase bool) {
	s.endChain(s.lastEnd)
	for !isCase && s.top().isCase && len(s.levels) > 1 {
		s.levels = s.levels[:len(s.levels)-1] // a CASE without END
	}
	if len(s.levels) > 1 {
		s.levels = s.levels[:len(s.levels)-1]
	}
	s.set(aValue, "", i+1)
}

// operator reads a run of the characters of operators.
func (s *arrowScan) operator(i int) int {
	end := i
	for end < len(s.sql) && strings.IndexByte(operatorBytes, s.sql[end]) >= 0 && skipQuoted(s.sql, end) == end {
		end++
	}
	run := s.sql[i:end]
	if s.last == arrowFirst && strings.Trim(run, "+-") == "" {
		s.lastEnd = end // a sign
		return end
	}
	arrow := strings.TrimRight(run, "+-")
	l := s.top()
	if arrow != "->" && arrow != "->>" || l.operand < 0 || s.last != aValue && s.last != typeName {
		s.separate(i)
		s.lastEnd = end
		return end
	}
	if arrow == "->" && run == arrow && l.lambda >= 0 && l.lambda == l.argument && l.operand == l.at && l.chain < 0 {
		l.lambda = -1 // the arrow of a lambda function, whose value begins
		s.separate(i)
		s.lastEnd = end
		return end
	}
	if l.chain < 0 {
		l.chain = l.operand
	}
	if run != arrow {
		// ->-1 would be read as a different operator
		s.edits = append(s.edits, Edit{From: i + len(arrow), To: i + len(arrow), Text: " "})
	}
	s.set(arrowFirst, "", end)
	return end
}
