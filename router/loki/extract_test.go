package loki

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/schema"
	"cordwood/router/loki/lines"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/translate"
)

// BenchmarkExtract measures a range aggregation whose labels a parser finds, for 10,000 lines.
func BenchmarkExtract(b *testing.B) {
	table := translate.NewTable((&schema.Table{Database: "public", Name: "loki_logs", Columns: []schema.Column{
		{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{Name: "line", Type: schema.String, Semantic: schema.Field},
		{Name: "structured_metadata", Type: schema.JSON, Semantic: schema.Field},
		{Name: "app", Type: schema.String, Semantic: schema.Tag},
		{Name: "host", Type: schema.String, Semantic: schema.Tag},
	}}).Index())
	const rows = 10_000
	text := arrow.BinaryTypes.String
	s := arrow.NewSchema([]arrow.Field{
		{Name: "ts", Type: arrow.FixedWidthTypes.Timestamp_ns},
		{Name: "line", Type: text},
		{Name: "app", Type: text},
		{Name: "host", Type: text},
		{Name: "structured_metadata", Type: text},
	}, nil)
	for name, query := range map[string]string{
		"json":   `rate({app="app1"} | json | drop id, took, path [1m])`,
		"series": `rate({app="app1"} | json | drop took [1m])`,
	} {
		b.Run(name, func(b *testing.B) {
			build := array.NewRecordBuilder(memory.DefaultAllocator, s)
			for i := range rows {
				build.Field(0).(*array.TimestampBuilder).Append(arrow.Timestamp(int64(i) * int64(time.Millisecond)))
				build.Field(1).(*array.StringBuilder).Append(fmt.Sprintf(`{"level": "info", "status": %d, "id": "%016x", `+
					`"took": "%dms", "path": "/api/v1/items/%d", "msg": "request done in the service"}`, 200+i%3, i, i, i))
				build.Field(2).(*array.StringBuilder).Append("app1")
				build.Field(3).(*array.StringBuilder).Append(fmt.Sprint("h", i%20))
				build.Field(4).AppendNull()
			}
			rec := build.NewRecordBatch()
			defer rec.Release()
			m, err := logql.Parse(query)
			if err != nil {
				b.Fatal(err)
			}
			r := m.(*logql.Range)
			b.ReportAllocs()
			for b.Loop() {
				memory := shared{most: maxAllSize}
				e := &evaluator{steps: translate.Steps{Step: int64(time.Second), N: 10}, memory: memory.holding()}
				x := newExtraction(e, r, nil, map[string]*group{})
				if err := entries(table, rec, func(e *lines.Entry) error { return x.add(b.Context(), e) }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/line")
		})
	}
}
