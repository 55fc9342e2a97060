package sql

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"cordwood/proto/errs"
)

// parser is DuckDB's parser: it returns the syntax tree of a text, in the form of
// json_serialize_sql.
type parser func(text string) (tree string, err error)

// Parse checks that text is one SELECT, or an EXPLAIN of one, that calls nothing forbidden. It
// returns the statement and its syntax tree. database is used for table names without a database.
func Parse(sql, database string, parser parser) (*Statement, Node, error) {
	switch {
	case len(sql) > MaxSQL:
		return nil, nil, errs.New(errs.InvalidArguments, "the statement has %d bytes; at most %d are "+
			"allowed", len(sql), MaxSQL)
	case !utf8.ValidString(sql):
		return nil, nil, errs.New(errs.InvalidSyntax, "syntax error: the statement is not valid UTF-8")
	case strings.IndexByte(sql, 0) >= 0:
		return nil, nil, errs.New(errs.InvalidSyntax, "syntax error at position %d: a NUL character",
			strings.IndexByte(sql, 0))
	}
	comment := lineComment(sql)
	sql = normalize(sql)
	if err := boundText(sql); err != nil {
		return nil, nil, err
	}
	prefix, at, err := explain(sql)
	if err != nil {
		return nil, nil, err
	}
	st := &Statement{Explain: prefix, offset: at, comment: comment, client: sql}
	text, edits := amend(sql[at:])
	st.SQL, st.amended = text, [][]Edit{edits}
	tree, err := parser.tree(st.SQL)
	if err != nil {
		return nil, nil, err
	}
	if tree.Error {
		if tree, err = parser.quotedTree(st, tree); err != nil {
			return nil, nil, err
		}
	}
	switch len(tree.Statements) {
	case 0:
		return nil, nil, errs.New(errs.InvalidSyntax, "syntax error: the statement is empty")
	case 1:
	default:
		return nil, nil, errs.New(errs.Unsupported, "%d statements at once are not supported here; send them one at a time",
			len(tree.Statements))
	}
	w := walker{st: st, database: database, around: around{notAt: -1}}
	if err := w.statement(tree.Statements[0]); err != nil {
		return nil, nil, err
	}
	st.study(tree.Statements[0])
	root, _ := tree.Statements[0].(Node)["node"].(Node)
	st.list = outermostList(root)
	return st, root, nil
}

// quotedTree handles a statement that the parser refused. If only a column named at is the cause,
// it quotes the name in st and returns the tree. Otherwise it returns the error.
func (p parser) quotedTree(st *Statement, wrong *syntaxTree) (*syntaxTree, error) {
	sql, edits := quoteAt(st.SQL)
	if len(edits) == 0 {
		return nil, wrong.clientError(st)
	}
	tree, err := p.tree(sql)
	if err != nil {
		return nil, err
	}
	if tree.Error {
		return nil, wrong.clientError(st)
	}
	st.SQL, st.amended = sql, append(st.amended, edits)
	return tree, nil
}

// GroupingSets returns the grouping sets of a SELECT as lists of numbers of its group expressions.
// parser must return trees with empty fields.
func GroupingSets(text string, parser parser) ([]any, error) {
	tree, err := parser.tree(text)
	if err != nil {
		return nil, err
	}
	if len(tree.Statements) != 1 {
		return nil, errs.New(errs.Unexpected, "parse a statement: the parser returned %d statements instead of "+
			"one", len(tree.Statements))
	}
	st, _ := tree.Statements[0].(Node)
	root, _ := st["node"].(Node)
	sets, _ := root["group_sets"].([]any)
	return sets, nil
}

// syntaxTree is what json_serialize_sql returns.
type syntaxTree struct {
	Error        bool   `json:"error"`
	ErrorType    string `json:"error_type"`
	ErrorMessage string `json:"error_message"`
	Position     string `json:"position"`
	Statements   []any  `json:"statements"`
}

// tree returns the syntax tree of a text. Long lists are not parsed, because that takes most of the time.
func (p parser) tree(sql string) (*syntaxTree, error) {
	if short := Shorten(sql); short != nil {
		if tree, err := p.whole(short.SQL); err == nil && short.expand(tree) {
			return tree, nil
		}
	}
	return p.whole(sql)
}

func (p parser) whole(sql string) (*syntaxTree, error) {
	text, err := p(sql)
	if err != nil {
		return nil, fmt.Errorf("parse a statement of %d bytes: %w", len(sql), err)
	}
	tree := &syntaxTree{}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(tree); err != nil {
		if at := (*json.SyntaxError)(nil); errors.As(err, &at) && strings.HasPrefix(text[max(at.Offset-1, 0):], "Infinity") {
			return nil, errs.New(errs.PlanQuery, "a number of the statement is out of range: the largest "+
				"DOUBLE is 1.7976931348623157e308; write 'infinity'::DOUBLE if infinity is meant")
		}
		return nil, fmt.Errorf("parse a statement of %d bytes: the syntax tree: %w", len(sql), err)
	}
	return tree, nil
}

// clientError returns the error for a text that DuckDB's parser refused, or that is not a SELECT.
func (t *syntaxTree) clientError(st *Statement) error {
	if t.ErrorType == "not implemented" {
		w, _ := Word(st.SQL, 0)
		if i := pivot.FindStringIndex(st.SQL); i != nil {
			return errs.New(errs.Unsupported, "PIVOT needs the values that become columns, as in PIVOT logs ON host IN ('a', "+
				"'b') USING count(*): without IN, DuckDB would run an extra statement to find the values (position %d)",
				st.clientPosition(i[0]))
		}
		if i := symmetric.FindStringIndex(st.SQL); i != nil {
			return errs.New(errs.Unsupported, "BETWEEN SYMMETRIC is not supported; write x BETWEEN least(a, b) AND "+
				"greatest(a, b) (position %d)", st.clientPosition(i[0]))
		}
		return errs.New(errs.Unsupported, "%s is not supported: only SELECT and EXPLAIN SELECT can be run here",
			strings.ToUpper(w))
	}
	msg := advise(firstLine(t.ErrorMessage))
	if e := (&EngineError{Kind: t.ErrorType, Message: t.ErrorMessage}); isOutOfMemory(e) {
		return noMemory(e, msg)
	}
	if strings.HasPrefix(msg, "Max expression depth") {
		return errTooDeep
	}
	if st.comment >= 0 && cutShort.MatchString(msg) {
		return errs.New(errs.InvalidSyntax,
			"%s; two hyphens begin a comment that lasts until the end of the line, here at position %d: write - (-1) or - -1",
			msg, st.comment)
	}
	if strings.Contains(msg, "errhint NOT IMPLEMENTED") && limitPair.MatchString(st.SQL) {
		msg = "syntax error: LIMIT takes one number; instead of LIMIT 20, 10 write LIMIT 10 OFFSET 20"
	}
	if topN.MatchString(st.SQL) {
		msg += "; write the number of rows at the end, as in LIMIT 5"
	}
	var at int
	if _, err := fmt.Sscan(t.Position, &at); err == nil {
		return errs.New(errs.InvalidSyntax, "%s (position %d)", msg, st.clientPosition(at))
	}
	if strings.HasPrefix(msg, "syntax error") {
		return errs.New(errs.InvalidSyntax, "%s", msg)
	}
	return errs.New(errs.InvalidSyntax, "syntax error: %s", msg)
}
