package query

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// Lookup selects texts in a column of a table: those from Low (included) to High (excluded), in rows from Since to
// Until.
type Lookup struct {
	Database, Table, Column string
	Low, High               string
	// Since and Until are in nanoseconds since 1970, and both are included. 0 means no bound.
	Since, Until int64
	// Limit limits the number of texts.
	Limit int
}

// Lookup returns texts that the rows of a table have in a column. It is for the server itself, so it checks no
// rights. If the table or the column does not exist, or the column has another type, it returns none.
func (s *Service) Lookup(ctx context.Context, q Lookup) ([]string, error) {
	ctx = access.With(ctx, &access.Caller{Sender: access.Everybody()})
	behind, _ := s.names.fresh(ctx, oldIsFine) // an error cannot occur here
	t, ok := s.names.meta.Table(q.Database, q.Table)
	switch {
	case !ok && behind != nil:
		return nil, unread(behind, "whether table "+q.Database+"."+q.Table+" exists cannot be read")
	case !ok || t.TimeIndex() == nil:
		return nil, nil
	}
	if c := t.Column(q.Column); c == nil || c.Type != schema.String {
		return nil, nil
	}
	statements, err := statement.Parse(q.text(t))
	if err != nil {
		return nil, errs.New(errs.Internal, "search for texts in column %s: %s", q.Column, err)
	}
	var out []string
	err = s.Execute(ctx, Request{Statements: statements, Database: q.Database}, func(_ context.Context, r Result) error {
		for r.Rows.Next() {
			column, ok := r.Rows.RecordBatch().Column(0).(array.StringLike)
			if !ok {
				return errs.New(errs.Internal, "search for texts in column %s: the answer has type %s", q.Column,
					r.Rows.RecordBatch().Column(0).DataType())
			}
			out = appendTexts(out, column)
		}
		return r.Rows.Err()
	})
	if code := errs.CodeOf(err); code == errs.TableNotFound || code == errs.DatabaseNotFound {
		return nil, nil // it was dropped meanwhile
	}
	if err != nil && errs.From(err).Status() == http.StatusBadRequest {
		err = errs.New(errs.Internal, "search for texts in column %s: %s", q.Column, err) // the fault is not the client's
	}
	return out, err
}

// appendTexts appends copies of the texts in a column.
func appendTexts(out []string, column array.StringLike) []string {
	for i := range column.Len() {
		if !column.IsNull(i) {
			out = append(out, strings.Clone(column.Value(i)))
		}
	}
	return out
}

// text returns the statement. If few rows have to be read, it is answered without the engine.
func (q *Lookup) text(t *schema.Table) string {
	at, column := schema.QuoteIdent(t.TimeIndex().Name), schema.QuoteIdent(q.Column)
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "SELECT %s FROM %s.%s WHERE %s >= %s AND %s < %s", column, schema.QuoteIdent(q.Database),
		schema.QuoteIdent(q.Table), column, schema.QuoteLiteral(q.Low), column, schema.QuoteLiteral(q.High))
	if q.Since != 0 {
		_, _ = fmt.Fprintf(&b, " AND %s >= '%s'", at, instant(q.Since))
	}
	if q.Until != 0 {
		_, _ = fmt.Fprintf(&b, " AND %s <= '%s'", at, instant(q.Until))
	}
	_, _ = fmt.Fprintf(&b, " LIMIT %d", q.Limit)
	return b.String()
}

// instant formats a time for an SQL literal.
func instant(nanos int64) string {
	return time.Unix(0, nanos).UTC().Format("2006-01-02 15:04:05.000000000")
}
