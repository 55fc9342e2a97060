package engine

import (
	duckdb "github.com/duckdb/duckdb-go-bindings"

	"cordwood/proto/errs"
)

// maxColumns is how many columns an answer may have.
const maxColumns = 100_000

// prepared is a statement ready to run.
type prepared struct {
	session *session
	stmt    duckdb.PreparedStatement
	text    string
	names   []string
	types   []duckdb.LogicalType
}

func prepare(s *session, text string) (*prepared, error) {
	p := &prepared{session: s, text: text}
	if duckdb.Prepare(s.conn, text, &p.stmt) == duckdb.StateError {
		err := engineError(duckdb.PrepareError(p.stmt), duckdb.ErrorTypeInvalid)
		p.close()
		return nil, err
	}
	switch kind := duckdb.PreparedStatementType(p.stmt); kind {
	case duckdb.StatementTypeSelect, duckdb.StatementTypeExplain:
	default:
		p.close()
		return nil, errs.New(errs.Unsupported, "only SELECT, and EXPLAIN of it, can be run here")
	}
	columns := duckdb.PreparedStatementColumnCount(p.stmt)
	if columns > maxColumns {
		p.close()
		return nil, errs.New(errs.Unsupported, "the answer would have %d columns; %d are allowed", columns, maxColumns)
	}
	for i := range columns {
		p.names = append(p.names, duckdb.PreparedStatementColumnName(p.stmt, i))
		p.types = append(p.types, duckdb.PreparedStatementColumnLogicalType(p.stmt, i))
	}
	return p, nil
}

func (p *prepared) close() {
	for i := range p.types {
		duckdb.DestroyLogicalType(&p.types[i])
	}
	p.types = nil
	duckdb.DestroyPrepare(&p.stmt)
}
