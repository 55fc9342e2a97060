package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/query/statement"
)

// RunTexts runs one statement about users, roles, grants or tokens for the caller in ctx. Its rules and errors are
// those of Execute. columns and rows are nil if the statement returns no rows. A change is refused with code
// IllegalState if a condition is not met.
func (s *Service) RunTexts(
	ctx context.Context, sql string, conditions ...*metapb.AccessCondition,
) (columns []string, rows [][]string, affected int64, err error) {
	statements, err := statement.Parse(sql)
	if err != nil {
		return nil, nil, 0, err
	}
	if len(statements) != 1 {
		return nil, nil, 0, errs.New(errs.InvalidArguments, "the request makes %d statements, and not one", len(statements))
	}
	req := Request{Statements: statements, Texts: statement.Texts(sql), conditions: conditions}
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

// AccessVersion returns the version of a user or role, or of a token, or nil if there is none. It does not check what
// the caller may see.
func (s *Service) AccessVersion(token bool, name string) []byte {
	if s.cfg.Accounts == nil {
		return nil
	}
	if token {
		for _, t := range s.cfg.Accounts.StoredTokens() {
			if t.Name == name {
				return rights.VersionOfToken(t)
			}
		}
		return nil
	}
	for _, p := range s.cfg.Accounts.Principals() {
		if p.Name == name {
			return rights.VersionOf(p)
		}
	}
	return nil
}
