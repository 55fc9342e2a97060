package rewrite

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"cordwood/router/query/statement"
)

// Session has the properties of the session that a statement can depend on.
type Session struct {
	// Catalog is the database that the client connected to: PostgreSQL's catalog. Path has the schemas in which names
	// without a schema are searched, in this order.
	Catalog string
	Path    []string
	User    string
	Version string
	PID     uint32
	// Setting returns a parameter of the session. Settings returns all of them by name.
	Setting  func(name string) (string, bool)
	Settings func() [][2]string
	// HasTable reports whether the first schema of the path contains a table.
	HasTable func(name string) bool
	// Relation returns the OID of a table. An empty schema means the search path.
	Relation func(schema, name string) (int64, bool)
	// Seen returns the OID of a table on which the user has any privilege, and HasColumn whether it has a column.
	Seen      func(schema, name string) (int64, bool)
	HasColumn func(oid int64, name string) bool
	// ColumnTypes returns the OIDs of the types of a table's columns.
	ColumnTypes func(oid int64) map[string]int64
	// Role returns the OID of a user or role that the user may know.
	Role func(name string) (int64, bool)
	// Named returns the OIDs of all relations with a name, in all schemas.
	Named func(name string) []int64
	// SchemaOID returns the OID of a schema, or 0 if it does not exist.
	SchemaOID func(name string) int64
	// TLS is the state of TLS of the connection, or nil. Prepared returns the prepared statements that have names.
	TLS      *TLS
	Prepared func() []PreparedStatement
	// Signalled has the results of the calls that act on sessions, once they were carried out.
	Signalled map[Signal]bool
	// Operands has the engine's types of operands that are cast to numeric, by the places of the casts.
	Operands map[int]string
	// Probe is the place of a cast to numeric whose operand's type is to be found, or 0: Rewrite writes a call that the
	// engine refuses with the type (see ProbedType).
	Probe int
}

// Result is a rewritten statement.
type Result struct {
	Text string
	// Sets are the settings that calls of set_config change.
	Sets []Set
	// Casts are the places of the casts and other operators for which the types of the operands are not known.
	Casts []int
	// Sleep is how long to wait before the statement, and Signals are the sessions to end before it.
	Sleep   time.Duration
	Signals []Signal

	places []place
}

// Set is a setting and its new value.
type Set struct {
	Name, Value string
	Local       bool
}

// place maps the offset of a token in the new text to its offset in the client's text.
type place struct{ at, origin int }

// Origin converts an offset in the new text to an offset in the client's text.
func (r *Result) Origin(at int) int {
	i := sort.Search(len(r.places), func(i int) bool { return r.places[i].at > at })
	if i == 0 {
		return at
	}
	return r.places[i-1].origin
}

// rewriter rewrites one statement.
type rewriter struct {
	s    *Session
	sets []Set
	err  error
	// tokens are those of the statement. sleep and signals are what to do before it.
	tokens  []tok
	sleep   time.Duration
	signals []Signal
	// casts are the places of the casts and other operators whose operands have no known types.
	casts []int
	// regs are the casts of expressions to reg types, by the texts that were written for them. regNames are the names of
	// the objects for which OIDs were written.
	regs     map[string]regCast
	regNames map[string]string
	// documents are the texts that rules have written for JSON documents.
	documents map[string]bool
	// converting is true at the beginning of the argument of a function that converts it to JSON.
	converting bool
	// arguing is set while arguments of a function are rewritten.
	arguing bool
	// hidden are the columns that tables of the catalog have only if the statement contains their names.
	hidden map[string]bool
	// userColumn reports whether user may be a column of a table of the statement.
	userColumn func() bool
	// columns are the types of the columns of the statement's tables.
	columns func() columnTypes
	// depth is the nesting depth of rules, and bytes the number of bytes that rules have written.
	depth, bytes int
	// steps counts the tokens that were read to find restrictions.
	steps int
	out   []tok
	in    []tok
	i     int
}

// The limits of rewriting: the nesting depth of rules, the bytes that rules write, and the length of the result. A rule
// may write its operand more than once, so nested calls would grow exponentially.
const (
	maxDepth   = 200
	maxWritten = 4 << 20
	maxResult  = 1 << 20
)

// maxNesting is the maximum depth of brackets in a statement, and maxCasts the maximum number of casts of one operand.
const (
	maxNesting = 1000
	maxCasts   = 200
)

// tooComplex returns the error for a statement beyond these limits.
func tooComplex() *Error {
	return &Error{State: "54001", Text: "the statement is too complex: the engine's form of it is too long", At: -1}
}

// Error is an error about a name that does not exist, or a statement that is too complex.
type Error struct {
	State, Text string
	// At is the byte offset of the literal with the name in the statement, or -1.
	At   int
	name string
}

// locate sets the place of the error.
func (e *Error) locate(toks []tok) {
	for _, t := range toks {
		if t.kind == statement.TokenText && t.val == e.name {
			e.At = t.at
			return
		}
	}
}

func (e *Error) Error() string { return e.Text }

// Rewrite translates a statement to the engine's SQL.
func Rewrite(text string, s *Session) (Result, error) {
	if sql := replacementOf(text); sql != "" {
		text = sql
	}
	toks := nameRows(tokens(text))
	if at := tooDeep(toks); at >= 0 {
		return Result{Text: text}, &Error{
			State: "54001", Text: fmt.Sprintf("stack depth limit exceeded: brackets may be nested %d deep", maxNesting), At: at,
		}
	}
	r := &rewriter{s: s, tokens: toks}
	for _, name := range []string{"tableoid", "xmin"} {
		if slices.ContainsFunc(toks, func(t tok) bool { return t.word(name) }) {
			if r.hidden == nil {
				r.hidden = map[string]bool{}
			}
			r.hidden[name] = true
		}
	}
	r.columns = sync.OnceValue(func() columnTypes { return r.findColumnTypes(toks) })
	r.userColumn = sync.OnceValue(func() bool { return r.findUserColumn(toks) })
	var out []tok
	switch {
	case len(toks) > 0 && toks[0].kind == statement.TokenWord && defining[strings.ToUpper(toks[0].val)]:
		return Result{Text: text}, nil
	case len(toks) > 0 && toks[0].word("INSERT"):
		out = r.insert(toks)
	default:
		out = r.all(nameColumns(withoutLocks(toks)))
	}
	if r.err != nil {
		if e := (*Error)(nil); errors.As(r.err, &e) && e.name != "" {
			e.locate(toks)
		}
		return Result{Text: text}, r.err
	}
	res := Result{Sets: r.sets, Casts: r.casts, Sleep: r.sleep, Signals: r.signals}
	var b strings.Builder
	for _, t := range out {
		b.WriteString(t.pre)
		res.places = append(res.places, place{b.Len(), t.at})
		b.WriteString(t.text)
	}
	res.Text = b.String()
	if len(res.Text) > max(maxResult, len(text)) {
		return Result{Text: text}, tooComplex()
	}
	return res, nil
}

// all rewrites tokens of a statement.
func (r *rewriter) all(in []tok) []tok {
	if r.depth++; r.depth > maxDepth {
		r.err = tooComplex()
	}
	savedIn, savedI, savedOut := r.in, r.i, r.out
	r.in, r.i, r.out = in, 0, nil
	for r.i < len(r.in) && r.err == nil {
		if !r.rule() {
			r.push(r.in[r.i])
			r.i++
		}
	}
	out := r.out
	r.in, r.i, r.out = savedIn, savedI, savedOut
	r.depth--
	return out
}

// at returns the token n places ahead.
func (r *rewriter) at(n int) tok {
	if r.i+n < len(r.in) && r.i+n >= 0 {
		return r.in[r.i+n]
	}
	return tok{kind: statement.TokenComment}
}

// last returns the last token of the output.
func (r *rewriter) last() tok {
	if len(r.out) == 0 {
		return tok{kind: statement.TokenComment}
	}
	return r.out[len(r.out)-1]
}

// raw writes a text in place of tokens, of which t is the first.
func (r *rewriter) raw(t tok, text string) {
	if r.err != nil {
		return
	}
	if r.bytes += len(text); r.bytes > maxWritten {
		r.err = tooComplex()
	}
	r.push(tok{kind: written, pre: t.pre, text: text, val: text, at: t.at})
}
