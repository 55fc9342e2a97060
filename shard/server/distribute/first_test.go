package distribute

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// TestLiterals checks which values can be written as literals, and how.
func TestLiterals(t *testing.T) {
	t.Parallel()
	mem := memory.DefaultAllocator
	text, double := array.NewStringBuilder(mem), array.NewFloat64Builder(mem)
	text.AppendValues([]string{"it's", "a\x00b"}, nil)
	double.AppendValues([]float64{0.1, -1e300, math.NaN(), math.Inf(-1)}, nil)
	stamp := array.NewTimestampBuilder(mem, &arrow.TimestampType{Unit: arrow.Millisecond})
	stamp.AppendValues([]arrow.Timestamp{1_700_000_000_123, -62_135_596_800_001}, nil)
	day, big := array.NewDate32Builder(mem), array.NewDecimal128Builder(mem, &arrow.Decimal128Type{Precision: 38})
	day.Append(19_675)
	big.Append(decimal128.FromI64(-5))
	list := array.NewListBuilder(mem, arrow.PrimitiveTypes.Int64)
	list.Append(true)
	for _, c := range []struct {
		of   arrow.Array
		want []string // "" means that there is no literal
	}{
		{text.NewArray(), []string{"it's", ""}},
		{double.NewArray(), []string{"0.1", "-1e+300", "", ""}},
		{stamp.NewArray(), []string{"2023-11-14 22:13:20.123", ""}},
		{day.NewArray(), []string{"2023-11-14"}},
		{big.NewArray(), []string{"-5"}},
		{list.NewArray(), []string{""}},
	} {
		for i, want := range c.want {
			if got, ok := literal(c.of, i); ok != (want != "") || ok && got != want {
				t.Errorf("%s: the literal is %q, %t; want %q", c.of.ValueStr(i), got, ok, want)
			}
		}
	}
}

// firstEngine returns a statement with a subquery, and then the statement with its values.
type firstEngine struct {
	Engine
	values []query.Values
}

func (e *firstEngine) Split(_ context.Context, req *query.Request) (*query.Split, error) {
	e.values = req.Values
	out := &query.Split{Table: query.TableName{Database: "d", Name: "t"}, Worker: "w", Final: "f", Kind: "aggregate"}
	if req.Values == nil {
		out.First = []query.First{{SQL: "inner", Tables: []query.TableName{{Database: "d", Name: "u"}}, Rows: 3}}
	}
	return out, nil
}

// TestFirst checks which values of a subquery reach the engine, and what happens if the subquery fails or has too many
// rows.
func TestFirst(t *testing.T) {
	t.Parallel()
	numbers := func(values ...uint64) []byte { return hashStream(t, values...) }
	for name, c := range map[string]struct {
		ipc    []byte
		err    error
		want   string // the values, or the reason why rows are fetched, or the error
		failed bool
	}{
		"values":             {ipc: numbers(5, 7, 5), want: "5 7"},
		"none":               {ipc: numbers(), want: ""},
		"too many":           {ipc: numbers(1, 2, 3, 4), want: "more than 900 values"},
		"a wrong statement":  {err: errs.New(errs.PlanQuery, "no such column"), want: "no such column"},
		"an unreached shard": {err: errs.New(errs.ShardUnreachable, "away"), want: "away", failed: true},
	} {
		e := &firstEngine{}
		var asked *shardpb.QueryRequest
		n := New(Config{
			Engine: e, Shows: func(uint32, bool) bool { return false },
			Ask: func(context.Context, *shardpb.QueryRequest) (Reader, error) { return nil, nil },
			Rows: func(_ context.Context, req *shardpb.QueryRequest, _ Progress) (InnerAnswer, error) {
				asked = req
				return InnerAnswer{IPC: c.ipc}, c.err
			},
		})
		table := func(name string) *shardpb.QueryTable {
			return &shardpb.QueryTable{
				Name: &shardpb.TableName{Database: "d", Name: name}, Table: &schemapb.Table{Id: 1},
				ShardId: 1, MoreShards: []uint32{2},
			}
		}
		req := &shardpb.QueryRequest{Sql: "outer", Database: "d", Timezone: "Asia/Tokyo"}
		req.Tables = []*shardpb.QueryTable{table("t"), table("u")}
		d, err := n.TakeApart(t.Context(), req, "id", nil, false)
		if asked == nil || asked.Sql != "inner" || asked.Limit != 4 || asked.Timezone != req.Timezone ||
			len(asked.Tables) != 1 || asked.Tables[0].Name.Name != "u" {
			t.Errorf("%s: asked for %v", name, asked)
		}
		switch {
		case c.failed:
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case d.split.Reason != "" || strings.ContainsAny(c.want, "mn"):
			if !strings.Contains(d.split.Reason, c.want) {
				t.Errorf("%s: rows are fetched because %q, want %q", name, d.split.Reason, c.want)
			}
		case len(e.values) != 1 || strings.Join(e.values[0].Texts, " ") != c.want || e.values[0].Exists != (c.want != ""):
			t.Errorf("%s: the values are %+v", name, e.values)
		}
	}
}
