package duck

import (
	duckdb "github.com/duckdb/duckdb-go-bindings"

	"cordwood/proto/errs"
)

// maxColumns is the maximum number of columns of an answer.
const maxColumns = 100_000

// Prepared is a statement ready to run.
type Prepared struct {
	session *Session
	stmt    duckdb.PreparedStatement
	text    string
	Names   []string
	types   []duckdb.LogicalType
	// sentAsText contains the names of the types of columns that are cast to text for the answer,
	// if typeName knows them. It is nil if no column is cast.
	sentAsText []string
}

func prepare(s *Session, text string) (*Prepared, error) {
	p := &Prepared{session: s, text: text}
	if duckdb.Prepare(s.conn, text, &p.stmt) == duckdb.StateError {
		err := EngineError(duckdb.PrepareError(p.stmt), duckdb.ErrorTypeInvalid)
		p.Close()
		return nil, err
	}
	switch kind := duckdb.PreparedStatementType(p.stmt); kind {
	case duckdb.StatementTypeSelect, duckdb.StatementTypeExplain:
	default:
		p.Close()
		return nil, errs.New(errs.Unsupported, "only SELECT and EXPLAIN SELECT can be run here")
	}
	columns := duckdb.PreparedStatementColumnCount(p.stmt)
	if columns > maxColumns {
		p.Close()
		return nil, errs.New(errs.Unsupported, "the answer would have %d columns; at most %d are allowed: name the columns "+
			"that you need", columns, maxColumns)
	}
	for i := range columns {
		p.Names = append(p.Names, duckdb.PreparedStatementColumnName(p.stmt, i))
		p.types = append(p.types, duckdb.PreparedStatementColumnLogicalType(p.stmt, i))
	}
	return p, nil
}

// Close frees the statement.
func (p *Prepared) Close() {
	for i := range p.types {
		duckdb.DestroyLogicalType(&p.types[i])
	}
	p.types = nil
	duckdb.DestroyPrepare(&p.stmt)
}
