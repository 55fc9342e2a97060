package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/router/query/statement"
)

// RunTexts runs one statement about users, roles, grants or tokens for the caller in ctx. Its rules and errors are
// those of Execute. columns and rows are nil if the statement returns no rows.
func (s *Service) RunTexts(
	ctx context.Context, sql string,
) (columns []string, rows [][]string, affected int64, err error) {
	statements, err := statement.Parse(sql)
	if err != nil {
		return nil, nil, 0, err
	}
	if len(statements) != 1 {
		return nil, nil, 0, errs.New(errs.InvalidArguments, "the request makes %d statements, and not one", len(statements))
	}
	req := Request{Statements: statements, Texts: statement.Texts(sql)}
	err = s.Execute(ctx, req, func(_ context.Context, res Result) error {
		affected = res.AffectedRows
		if res.Rows == nil {
			return nil
		}
		for _, f := range res.Rows.Schema().Fields() {
			columns = append(columns, f.Name)
		}
		for res.Rows.Next() {
			batch := res.Rows.RecordBatch()
			for i := range int(batch.NumRows()) {
				row := make([]string, batch.NumCols())
				for c := range row {
					texts, ok := batch.Column(c).(*array.String)
					if !ok {
						return errs.New(errs.Internal, "read the column %s: it has no texts", columns[c])
					}
					row[c] = texts.Value(i)
				}
				rows = append(rows, row)
			}
		}
		return res.Rows.Err()
	})
	return columns, rows, affected, err
}
