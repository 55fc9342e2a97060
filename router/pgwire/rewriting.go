package pgwire

import (
	"errors"
	"strings"
	"sync"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
	"cordwood/router/pgwire/rewrite"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// translator translates statements of PostgreSQL's clients to the engine's SQL, and what the engine says about them to
// the client's words.
type translator struct {
	session *session
	runner  *runner
	version string // of the program
	pid     uint32
	// known has the types of operands of the last statement that needed them.
	known operands
	// prepared are the prepared statements of the session. signalled has the results of calls that act on sessions.
	prepared  *preparedStore
	signalled map[rewrite.Signal]bool
}

// rewritten translates a statement to the engine's SQL.
func (t *translator) rewritten(text string) (rewrite.Result, error) {
	s := t.rewriteSession()
	res, err := rewrite.Rewrite(text, s)
	for round := 0; err == nil && len(res.Casts) > 0 && round < operandRounds; round++ {
		if err := t.findOperands(text, res.Casts, s); err != nil {
			return res, err
		}
		res, err = rewrite.Rewrite(text, s)
	}
	var own *rewrite.Error
	if errors.As(err, &own) {
		e := failure(own.State, "%s", own.Text)
		e.Text, e.Hint, _ = strings.Cut(own.Text, "; ")
		if own.At >= 0 && own.At <= len(text) {
			e.Position = characters(text, own.At)
		}
		return res, e
	}
	return res, err
}

// parse rewrites and parses a statement for package query.
func (t *translator) parse(text string) (statement.Statement, error) {
	r, err := t.rewritten(text)
	if err != nil {
		return nil, err
	}
	list, err := statement.Parse(r.Text)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, failure("42601", "expected one statement")
	}
	return list[0], nil
}

// placed adds the position in the client's text to an error.
func (t *translator) placed(err error, cmd *command, text string) error {
	e := asError(err, nil)
	if errs.CodeOf(err) == errs.Unknown && !errors.As(err, new(*Error)) {
		return e
	}
	if errs.CodeOf(err) == errs.InvalidArguments && (cmd.verb == "CREATE" || cmd.verb == "ALTER") {
		e.State = "42P16" // the definition is invalid, and the words in it do not matter
	}
	r, rerr := t.rewritten(text)
	if rerr != nil {
		return e
	}
	if text == cmd.text && strings.HasPrefix(e.Text, "syntax error at end of input") {
		e.Position = characters(text, len(text))
		return e
	}
	if at := e.placeOf(r.Text); at >= 0 && text == cmd.text {
		e.Position = characters(cmd.text, r.Origin(at))
	}
	return e
}

// finder returns the OID of a table of a database.
type finder func(database, name string) (int64, bool)

// kept returns a finder in the tables that of lists, which is called once for each database.
func kept(of func(database string) map[string]int64) finder {
	tables := map[string]map[string]int64{}
	return func(database, name string) (int64, bool) {
		if tables[database] == nil {
			tables[database] = of(database)
		}
		oid, ok := tables[database][name]
		return oid, ok
	}
}

// rewriteSession returns the properties of the session that statements can depend on.
func (t *translator) rewriteSession() *rewrite.Session {
	s := t.session
	path := s.databases()
	if len(path) == 0 {
		path = []string{schema.DefaultDatabase}
	}
	// A statement may use many names: the results of look-ups are kept while it is rewritten.
	source := sync.OnceValue(t.runner.catalog)
	find := kept(func(database string) map[string]int64 { return source().TableOIDs(database) })
	seen := kept(func(database string) map[string]int64 { return source().SeenOIDs(database) })
	inPath := func(find finder) finder {
		return func(database, name string) (int64, bool) {
			if database != "" {
				return find(database, name)
			}
			for _, d := range path {
				if oid, ok := find(d, name); ok {
					return oid, true
				}
			}
			return 0, false
		}
	}
	return &rewrite.Session{
		TLS: t.runner.link.tlsState(), Prepared: t.prepared.describeAll, Signalled: t.signalled,
		Catalog: s.database, Path: path, User: s.user, Version: t.version, PID: t.pid, Setting: s.lookUp,
		Settings: func() (all [][2]string) {
			for _, name := range s.names() {
				all = append(all, [2]string{displayName(name), s.show(name)})
			}
			return all
		},
		HasTable: func(name string) bool {
			_, ok := find(path[0], name)
			return ok
		},
		Relation:    inPath(find),
		Seen:        inPath(seen),
		HasColumn:   func(oid int64, name string) bool { return source().HasColumn(oid, name) },
		ColumnTypes: func(oid int64) map[string]int64 { return source().ColumnTypes(oid) },
		Role:        func(name string) (int64, bool) { return source().RoleOID(name) },
		Named:       func(name string) []int64 { return source().Named(name) },
		SchemaOID:   func(name string) int64 { return source().SchemaOID(name) },
	}
}

// catalogColumns has the types of catalog columns whose types follow from their names.
var catalogColumns = func() map[string]*value.Type {
	m := map[string]*value.Type{}
	for _, t := range pgcatalog.Tables {
		for _, col := range t.Columns {
			typ := value.ByOID(uint32(pgcatalog.TypeOID(col.Type)))
			if old, twice := m[col.Name]; twice && old != typ {
				typ = nil
			}
			m[col.Name] = typ
		}
	}
	// asyncpg creates an array type for composite types, and reads its elements as OIDs.
	m["attrtypoids"] = value.ArrayOf(value.OID)
	return m
}()

// refine gives columns the names and types that they have in PostgreSQL.
func (t *translator) refine(text string, columns []column) {
	items := rewrite.Items(text)
	stars, before := 0, len(items)
	for i, item := range items {
		if item.Star {
			stars++
			before = min(before, i)
		}
	}
	fits := stars == 0 && len(items) == len(columns) || stars == 1 && len(items)-1 <= len(columns)
	of := make([]rewrite.Item, len(columns))
	for i := range columns {
		of[i].Star = fits // of the columns of a star nothing else is known
		switch after := len(columns) - i; {
		case !fits:
		case i < before:
			of[i] = items[i]
		case stars == 1 && after <= len(items)-1-before:
			of[i] = items[len(items)-after]
		}
		columns[i].refine(of[i], strings.Contains(text, "pg_"))
		if of[i].Null && columns[i].typ.OID == value.Int4.OID && !setOperation.MatchString(text) {
			columns[i].typ = value.Text // in the engine it is an integer
		}
	}
	t.originate(text, columns, of)
}

// setOperation matches set operations, in which the type of a column can come from the other SELECT.
var setOperation = lazyregexp.New(`(?i)\b(UNION|EXCEPT|INTERSECT)\b`)

// refine gives a column the name and the type of an expression in the select list.
func (col *column) refine(item rewrite.Item, catalog bool) {
	// A column keeps the name from its definition, even if the query writes it in another case.
	if item.Name != "" && (item.Column != item.Name || !strings.EqualFold(item.Name, col.name)) {
		col.name = item.Name
	}
	if item.Local && col.typ.OID == value.TimestampTZ.OID {
		col.typ = value.Timestamp
	}
	if item.Numeric && col.typ.OID == value.Float8.OID {
		col.typ = value.FloatNumeric
	}
	if item.Name != "" && item.Column == "" && !item.Sized && col.typ.OID == value.Numeric.OID && col.typ.Mod >= 0 {
		col.typ = value.Numeric // a result of a calculation, whose number of digits PostgreSQL does not report
	}
	if item.Array && col.typ.Nested() != nil {
		col.typ = col.typ.Nested()
	}
	if item.Name == "oid" && col.typ.OID == value.Int8.OID {
		col.typ = value.OID
	}
	if known := catalogColumns[item.Collected]; catalog && known != nil && known.OID == value.Name.OID &&
		col.typ.OID == value.ArrayOf(value.Text).OID {
		col.typ = value.ArrayOf(known)
	}
	column := item.Column
	if item.Name == "" { // of a star
		column = col.name
	}
	known := catalogColumns[column]
	if !catalog || known == nil {
		return
	}
	if known.OID == value.OID.OID && col.typ.OID == value.Int8.OID || col.typ.OID == value.Text.OID &&
		(known.OID == value.Name.OID || known.OID == value.Char.OID || known.OID == value.Regproc.OID) ||
		known.OID == value.Int2.OID && col.typ.OID == value.Int4.OID ||
		known.Elem() != nil && known.Elem().OID != value.Text.OID && col.typ.OID == value.ArrayOf(value.Int8).OID {
		col.typ = known
	}
}
