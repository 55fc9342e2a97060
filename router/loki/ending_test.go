package loki

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/schema"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/translate"
	"cordwood/router/query"
)

// overSource has a table with one entry. The time of a statement is over when its rows arrive.
type overSource struct{ table *schema.Table }

func (s *overSource) Tables(context.Context, string) ([]*schema.Table, error) {
	return []*schema.Table{s.table}, nil
}

func (s *overSource) Extents(context.Context, []*schema.Table) (map[uint64]*query.Extent, error) {
	return nil, errors.New("not used")
}

func (s *overSource) Execute(ctx context.Context, _ query.Request,
	each func(context.Context, query.Result) error,
) error {
	text := arrow.BinaryTypes.String
	layout := arrow.NewSchema([]arrow.Field{
		{Name: "ts", Type: arrow.FixedWidthTypes.Timestamp_ns}, {Name: "line", Type: text}, {Name: "app", Type: text},
	}, nil)
	build := array.NewRecordBuilder(memory.DefaultAllocator, layout)
	build.Field(0).(*array.TimestampBuilder).Append(1)
	build.Field(1).(*array.StringBuilder).Append(`{"a":"b"}`)
	build.Field(2).(*array.StringBuilder).Append("web")
	rows, err := array.NewRecordReader(layout, []arrow.RecordBatch{build.NewRecordBatch()})
	if err != nil {
		return err
	}
	over, cancel := context.WithCancelCause(ctx)
	cancel(context.DeadlineExceeded)
	return each(over, query.Result{Rows: rows})
}

// TestPipelinesEndWithTheStatement checks that pipelines in memory do not run on when the time of their statement is
// over.
func TestPipelinesEndWithTheStatement(t *testing.T) {
	source := &overSource{(&schema.Table{Database: "public", Name: "web", Columns: []schema.Column{
		{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{Name: "line", Type: schema.String, Semantic: schema.Field},
		{Name: "app", Type: schema.String, Semantic: schema.Tag},
	}}).Index()}
	service, err := New(source)
	if err != nil {
		t.Fatal(err)
	}
	q, err := logql.ParseLog(`{app="web"} | json`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := service.Reader("", 0).Logs(t.Context(), &Logs{Query: q, Span: Span{End: 10}, Limit: 10})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("entries: %d, %v", len(list), err)
	}
	m, err := logql.Parse(`rate({app="web"} | json [1m])`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = service.Reader("", 0).Metric(t.Context(), m.(logql.Metric), translate.Steps{Start: 10, Step: 1, N: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("metric: %v", err)
	}
}
