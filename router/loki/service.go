// Package loki reads tables as Loki's API shows them: as streams of entries, selected by LogQL. The query language is
// in package logql. Package translate turns queries into SQL, which package query runs, with the rights, limits and
// time of its caller. Package lines runs pipelines over the entries that come back, and package series has the
// operators between series of numbers. Pushing is package router/ingest/loki.
//
// A Service has no goroutines, and no state but the size of what its requests hold. Its methods may be called
// concurrently. DESIGN.md has the reasons.
package loki

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/scope"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/translate"
	"cordwood/router/query"
	"cordwood/router/query/statement"
)

// Source finds tables and runs SQL; *query.Service does.
type Source interface {
	Tables(ctx context.Context, database string) ([]*schema.Table, error)
	Extents(ctx context.Context, tables []*schema.Table) (map[uint64]*query.Extent, error)
	Execute(ctx context.Context, req query.Request, each func(context.Context, query.Result) error) error
}

// The limits of requests and answers.
const (
	// MaxTables is the maximum number of tables that a selector reads.
	MaxTables = 32
	// MaxEntries is the maximum number of entries in an answer.
	MaxEntries = 5000
	// MaxSteps is the maximum number of steps in a range query.
	MaxSteps = 11000
	// MaxSeries is the maximum number of series in an answer, and MaxVolumes in an answer with volumes.
	MaxSeries  = 500
	MaxVolumes = 5000
	// MaxNames is the maximum number of values of a label, and of label sets in a request for series.
	MaxNames = 10000
	// MaxVolumeLabels is the maximum number of labels that a request for volumes names.
	MaxVolumeLabels = 50
	// maxPoints is the maximum number of steps in all series of a query together.
	maxPoints = 2_000_000
	// maxAnswer is the maximum size of the lines and labels in an answer, in bytes.
	maxAnswer = 32 << 20
	// maxSeriesSize is the maximum size of the labels of all series in a query together, with what else each takes, in
	// bytes.
	maxSeriesSize = 256 << 20
	// maxSQL is the maximum size of an SQL statement, in bytes.
	maxSQL = 256 << 10
)

// Service reads tables as streams. See the package comment.
type Service struct {
	source Source
	// memory is what metric queries hold.
	memory shared
}

// New returns a Service. source must be set.
func New(source Source) (*Service, error) {
	if source == nil {
		return nil, errors.New("loki: the source must be set")
	}
	return &Service{source: source, memory: shared{most: maxAllSize}}, nil
}

// Reader reads for one request.
type Reader struct {
	service  *Service
	database string
	timeout  time.Duration
	began    time.Time
	stats    Stats
	// kept is the size of the entries of the answer so far, in bytes.
	kept int
}

// Stats counts what a request has read.
type Stats struct {
	// Statements is the number of SQL statements that ran. Rows and Bytes are the totals of their results.
	Statements, Rows, Bytes int64
	// Entries is the number of entries in the answer.
	Entries int64
	// Took is the time so far.
	Took time.Duration
}

// Reader returns a reader of a database. timeout is the time limit of each statement; 0 means the default of the
// source.
func (s *Service) Reader(database string, timeout time.Duration) *Reader {
	database = strings.TrimPrefix(database, "svc-")
	if database == "" {
		database = schema.DefaultDatabase
	}
	if schema.ReservedDatabase(database) {
		database = strings.ToLower(database)
	}
	return &Reader{service: s, database: database, timeout: timeout, began: time.Now()}
}

// Stats returns what was read so far.
func (r *Reader) Stats() Stats {
	s := r.stats
	s.Took = time.Since(r.began)
	return s
}

// tables returns the tables that may have entries for the matchers.
func (r *Reader) tables(ctx context.Context, matchers []logql.Matcher) ([]*translate.Table, error) {
	all, err := r.service.source.Tables(ctx, r.database)
	if err != nil {
		return nil, err
	}
	var out []*translate.Table
	for _, def := range all {
		if def.TimeIndex() == nil {
			continue
		}
		if t := translate.NewTable(def); t.Admits(matchers) {
			out = append(out, t)
		}
	}
	if len(out) > MaxTables {
		return nil, errs.New(errs.InvalidArguments, "the selector reads %d tables, and at most %d are read together: "+
			"name one with table=\"%s\"", len(out), MaxTables, out[0].Def.Name)
	}
	slices.SortFunc(out, func(a, b *translate.Table) int { return strings.Compare(a.Def.Name, b.Def.Name) })
	return out, nil
}

// run runs a SELECT and calls each with each batch of its rows, and with the context of the statement. A batch is valid
// until each returns.
func (r *Reader) run(ctx context.Context, sql string, each func(context.Context, arrow.RecordBatch) error) error {
	if len(sql) > maxSQL {
		return errs.New(errs.InvalidArguments, "the query becomes an SQL statement of %d bytes, and at most %d are allowed: "+
			"use fewer stages and labels", len(sql), maxSQL)
	}
	statements, err := statement.Parse(sql)
	if err != nil {
		return err
	}
	r.stats.Statements++
	req := query.Request{Statements: statements, Database: r.database, Timeout: r.timeout}
	return r.service.source.Execute(ctx, req, func(ctx context.Context, res query.Result) error {
		for res.Rows.Next() {
			rec := res.Rows.RecordBatch()
			r.stats.Rows += rec.NumRows()
			if err := each(ctx, rec); err != nil {
				return err
			}
		}
		return res.Rows.Err()
	})
}

// Span is a time range in nanoseconds since 1970. It includes Start and excludes End.
type Span struct{ Start, End int64 }

// moment converts nanoseconds since 1970 to a time.
func moment(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }

// within returns the SQL conditions for rows in a time range.
func within(t *translate.Table, s Span) []string {
	// Both bounds are always there: a column of seconds may have times that do not fit into nanoseconds.
	times := scope.Table{Def: t.Def}
	return []string{times.Compare(">=", moment(s.Start)), times.Compare("<", moment(s.End))}
}

// where returns a WHERE clause.
func where(lists ...[]string) string { return scope.WhereAll(slices.Concat(lists...)...) }

func limitOf(n int) string { return " LIMIT " + strconv.Itoa(n) }
