// Package shardtest creates tables and batches for the tests of package shard and of the packages
// below it. Only tests import it.
package shardtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// Shard is the id of the shard that takes the writes of tables made by Table.
const Shard = 7

// Table returns a table with a time index, a tag and a field, whose writes go to Shard.
func Table(id uint64) *schemapb.Table {
	return &schemapb.Table{
		Id: id, Database: "public", Name: fmt.Sprint("t", id), Version: 1, MinWriterVersion: 1,
		Columns: []*schemapb.Column{
			{
				Id: 1, Name: "ts", NotNull: true,
				Type: schemapb.Type_TYPE_TIMESTAMP_MILLISECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP,
			},
			{Id: 2, Name: "host", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_TAG},
			{Id: 3, Name: "m", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
		},
		NextColumnId: 4, Options: map[string]string{"append_mode": "true"},
		Placement: []*schemapb.Placement{{Epoch: 3, ShardId: Shard}},
	}
}

// Header returns the header of a batch that a shard with Table(table) admits.
func Header(table, session, seq uint64) column.Header {
	return column.Header{TableID: table, Epoch: 3, SchemaVersion: 1, Session: session, Seq: seq}
}

// Batch encodes one row for each message.
func Batch(h column.Header, messages ...string) []byte {
	var b column.Builder
	t := schema.FromProto(Table(h.TableID))
	ts, host, m := b.Add(t.Columns[0]), b.Add(t.Columns[1]), b.Add(t.Columns[2])
	for i, text := range messages {
		ts.SetInt(i, int64(h.Seq)*1000+int64(i))
		host.SetString(i, fmt.Sprint("h", i%3))
		m.SetString(i, text)
		b.EndRow()
	}
	return b.Encode(nil, h)
}

// Wait returns a context whose deadline ends a test that hangs.
func Wait(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// Metric returns the sum of the values of a counter or a gauge.
func Metric(t testing.TB, reg *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}
