package rewrite

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/lazyregexp"
	"cordwood/router/query/statement"
)

// Signal is a call of pg_cancel_backend or pg_terminate_backend.
type Signal struct {
	PID       int64
	Terminate bool
}

// maxSleep is the maximum time of pg_sleep, which the time limit of the statement ends anyway.
const maxSleep = 24 * time.Hour

// sleep notes a call of pg_sleep, which is carried out before the statement.
func sleep(r *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	if isOpen(args[0]) { // the statement is only described
		return "left(CAST(CAST(" + args[0] + " AS DOUBLE) AS VARCHAR), 0)", true
	}
	seconds, ok := literalNumber(args[0])
	if !ok || r.isOneOfMany() {
		return "", r.refuse("pg_sleep needs a literal number of seconds, and a statement without tables; write it in "+
			"a statement of its own, such as SELECT pg_sleep(1)", 0)
	}
	if seconds > 0 {
		r.sleep = min(r.sleep+time.Duration(min(seconds, maxSleep.Seconds())*float64(time.Second)), maxSleep)
	}
	return "''", true
}

// castNumberLiteral matches a number, which may be a text, with or without a cast.
var castNumberLiteral = lazyregexp.New(`(?i)^(?:CAST\()?'?(-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)'?` +
	`(?: AS \w+\))?(?:::\w+)?$`)

// literalNumber returns the value of an argument that is a literal number.
func literalNumber(arg string) (float64, bool) {
	m := castNumberLiteral.FindStringSubmatch(strings.TrimSpace(arg))
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	return v, err == nil
}

// signal notes a call of pg_cancel_backend or pg_terminate_backend, which is carried out before the statement.
func signal(name string, terminate bool) expand {
	return func(r *rewriter, args []string) (string, bool) {
		if len(args) == 0 || len(args) > 2 {
			return "", false
		}
		if isOpen(args[0]) {
			return "(CAST(" + args[0] + " AS BIGINT) IS NULL)", true
		}
		number, ok := literalNumber(args[0])
		pid := int64(number)
		if !ok || float64(pid) != number || r.isOneOfMany() {
			return "", r.refuse(name+" needs a literal number, and a statement without tables; read the numbers by "+
				"SELECT pid FROM pg_stat_activity, and write SELECT "+name+"(1234)", 0)
		}
		s := Signal{PID: pid, Terminate: terminate}
		if done, known := r.s.Signalled[s]; known {
			return strings.ToUpper(strconv.FormatBool(done)), true
		}
		r.signals = append(r.signals, s)
		return "FALSE", true
	}
}

// isOneOfMany reports whether the statement has clauses by which a call is made for no row or for many.
func (r *rewriter) isOneOfMany() bool {
	return slices.ContainsFunc(r.tokens, func(t tok) bool {
		return t.kind == statement.TokenWord && (t.word("FROM") || t.word("WHERE") || t.word("CASE") ||
			t.word("HAVING") || t.word("LIMIT") || t.word("UNION"))
	})
}

// TLS is the state of TLS of a connection.
type TLS struct {
	Version, Cipher string
	Bits            int
}

// PreparedStatement describes a prepared statement of the session.
type PreparedStatement struct {
	Name, Text string
	At         time.Time
	Types      []int64 // the OIDs of the types of its parameters
	FromSQL    bool
}

// ownTLS returns the row of pg_stat_ssl for the own connection.
func (r *rewriter) ownTLS() string {
	row := "FALSE AS ssl, NULL::VARCHAR AS version, NULL::VARCHAR AS cipher, NULL::INTEGER AS bits"
	if t := r.s.TLS; t != nil {
		row = "TRUE AS ssl, " + quote(t.Version) + " AS version, " + quote(t.Cipher) + " AS cipher, " +
			itoa(int64(t.Bits)) + " AS bits"
	}
	return "(SELECT " + itoa(int64(r.s.PID)) + " AS pid, " + row + ", NULL::VARCHAR AS client_dn, NULL::BIGINT AS " +
		"client_serial, NULL::VARCHAR AS issuer_dn)"
}

// ownStatements returns the rows of pg_prepared_statements.
func (r *rewriter) ownStatements() string {
	rows := []string{"(NULL, NULL, NULL, NULL, NULL)"}
	for _, p := range r.s.Prepared() {
		types := make([]string, len(p.Types))
		for i, t := range p.Types {
			types[i] = quote(r.shownName("regtype", "", t))
		}
		rows = append(rows, "("+quote(p.Name)+", "+quote(p.Text)+", TIMESTAMP "+
			quote(p.At.UTC().Format("2006-01-02 15:04:05.999999"))+", CAST(["+strings.Join(types, ", ")+
			"] AS VARCHAR[]), "+strconv.FormatBool(p.FromSQL)+")")
	}
	return "(SELECT name, statement, prepare_time, parameter_types, from_sql, CAST(0 AS BIGINT) AS generic_plans, " +
		"CAST(0 AS BIGINT) AS custom_plans FROM (VALUES " + strings.Join(rows, ", ") +
		") AS s(name, statement, prepare_time, parameter_types, from_sql) WHERE name IS NOT NULL)"
}
