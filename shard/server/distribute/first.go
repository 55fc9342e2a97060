package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// Subqueries in expressions, such as x IN (SELECT …), are run first, each as its own query, which may be split too.
// Their values become literals in the statements for nodes. If there are too many values, rows are fetched.

// errManyValues means that a subquery has more values than become literals.
var errManyValues = errs.New(errs.Internal, "query: a subquery has more than %d values, or several rows for one value",
	query.MaxValues)

// errNoLiterals means that values of a subquery cannot be written as literals.
var errNoLiterals = errs.New(errs.Internal, "query: the values of a subquery cannot be written as literals")

// runFirst runs the subqueries, and splits the statement with their values. If that is not possible, it records why.
func (d *Statement) runFirst(ctx context.Context) error {
	list := d.split.First
	if len(list) == 0 || d.split.Reason != "" {
		return nil
	}
	if d.nodes.cfg.Rows == nil || d.nodes.large.has(d.statement()) {
		d.split = &query.Split{
			Reason: fmt.Sprintf("in the last %d minutes, a subquery of this statement returned more than %d values, which are "+
				"too many for literals; a narrower condition in the subquery helps", keptFor/time.Minute, query.MaxValues),
			Cause: causeLarge, Explain: d.split.Explain,
		}
		return nil
	}
	if d.split.Explain != "" && !query.Analyzes(d.split.Explain) {
		return nil
	}
	values := make([]query.Values, len(list))
	for i := range list {
		ran := ranFirst{sql: list[i].SQL}
		begin := time.Now()
		var err error
		values[i], err = d.valuesOf(ctx, &list[i], &ran)
		ran.took, ran.values, ran.err = time.Since(begin), len(values[i].Texts), err
		d.first = append(d.first, ran)
		if err != nil {
			return d.withoutValues(ctx, err)
		}
	}
	if err := d.takeApart(ctx, values); err != nil {
		return err
	}
	d.split.First = list
	return nil
}

// ranFirst describes the run of a subquery.
type ranFirst struct {
	sql    string
	values int
	took   time.Duration
	ran    string // what nodes sent; see InnerAnswer
	err    error
}

// withoutValues records that the statement is not split because of its subqueries. If err does not allow that the rows
// are fetched, it returns err.
func (d *Statement) withoutValues(ctx context.Context, err error) error {
	if err == errManyValues { //nolint:errorlint // it is not wrapped
		d.nodes.large.add(d.statement())
	}
	if !fetchesInstead(ctx, err) {
		return err
	}
	d.missing = nil
	reason := "a subquery that runs first failed: " + errs.From(err).Msg
	switch {
	case errors.Is(err, errManyValues):
		reason = fmt.Sprintf("a subquery has more than %d values, or several rows for one value: too many for literals; "+
			"a narrower condition in the subquery helps", query.MaxValues)
	case errors.Is(err, errNoLiterals):
		reason = "a subquery has values that cannot be written as literals, such as infinity or a text with a zero byte"
	}
	d.split = &query.Split{Reason: reason, Cause: causeLarge, Explain: d.split.Explain}
	return nil
}

// valuesOf runs a subquery.
func (d *Statement) valuesOf(ctx context.Context, f *query.First, ran *ranFirst) (out query.Values, err error) {
	req := &shardpb.QueryRequest{
		Sql: f.SQL, Database: d.req.Database, Timezone: d.req.Timezone, Limit: f.Rows + 1, Share: d.req.Share,
		QueryId: d.id, Nodes: d.req.Nodes, AllowPartial: d.req.AllowPartial, AnyReplica: d.req.AnyReplica,
		MaxStalenessNanos: d.req.MaxStalenessNanos, Unchecked: d.req.Unchecked, Stages: d.split.Explain != "",
	}
	for _, t := range d.req.Tables {
		if t.Name != nil && slices.Contains(f.Tables, query.TableName{Database: t.Name.Database, Name: t.Name.Name}) {
			req.Tables = append(req.Tables, t)
		}
	}
	answer, err := d.nodes.cfg.Rows(ctx, req, d.progress)
	ran.ran = answer.Ran
	if err != nil {
		return out, err
	}
	d.missing = append(d.missing, answer.Missing...)
	seen, rows := map[string]bool{}, uint64(0)
	err = eachBatch(answer.IPC, func(rec arrow.RecordBatch) error {
		rows += uint64(rec.NumRows())
		if f.Exists {
			return nil
		}
		if rows > f.Rows || rec.NumCols() != 1 {
			return errManyValues
		}
		column := rec.Column(0)
		for i := range column.Len() {
			if column.IsNull(i) {
				out.Null = true
				continue
			}
			text, ok := literal(column, i)
			if !ok {
				return errNoLiterals
			}
			if !seen[text] {
				seen[text] = true
				out.Texts = append(out.Texts, text)
			}
		}
		return nil
	})
	out.Exists = rows > 0
	out.Null = out.Null || rows == 0 && f.Rows == 1
	return out, err
}

// literal returns a value as a text that the engine casts to the same value.
func literal(column arrow.Array, row int) (string, bool) {
	var year int
	var text string
	switch c := column.(type) {
	case *array.Timestamp:
		t, ok := c.DataType().(*arrow.TimestampType)
		if !ok {
			return "", false
		}
		at := c.Value(row).ToTime(t.Unit)
		year, text = at.Year(), at.UTC().Format("2006-01-02 15:04:05.999999999")
	case *array.Date32:
		at := c.Value(row).ToTime()
		year, text = at.Year(), at.Format("2006-01-02")
	case *array.String:
		return strings.Clone(c.Value(row)), !strings.Contains(c.Value(row), "\x00")
	case *array.Decimal128:
		t, ok := c.DataType().(*arrow.Decimal128Type)
		return c.ValueStr(row), ok && t.Scale == 0
	case *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Uint8, *array.Uint16, *array.Uint32, *array.Uint64,
		*array.Boolean:
		return column.ValueStr(row), true
	case *array.Float32:
		return fmt.Sprint(c.Value(row)), c.Value(row)-c.Value(row) == 0 // neither infinite nor NaN
	case *array.Float64:
		return fmt.Sprint(c.Value(row)), c.Value(row)-c.Value(row) == 0
	default:
		return "", false
	}
	return text, year >= 1 && year <= 9999
}

// noteFirst writes the part of EXPLAIN about the subqueries.
func (d *Statement) noteFirst(b *strings.Builder) {
	for _, f := range d.first {
		fmt.Fprintf(b, "\nfirst: %s\n  ", f.sql)
		took := f.took.Round(100 * time.Microsecond)
		if f.err != nil {
			fmt.Fprintf(b, "failed after %s: %s", took, errs.From(f.err).Msg)
		} else {
			fmt.Fprintf(b, "%s in %s", query.CountOf(f.values, "value"), took)
		}
		b.WriteString(f.ran)
	}
	if len(d.first) > 0 {
		return
	}
	for _, f := range d.split.First {
		fmt.Fprintf(b, "\nfirst: %s\n  EXPLAIN does not run it. The statement above has a null in place of its values.",
			f.SQL)
		if f.Rows > 1 {
			fmt.Fprintf(b, " If it has more than %d values, rows are fetched.", f.Rows)
		}
	}
}
