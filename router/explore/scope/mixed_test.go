package scope

import (
	"strings"
	"testing"

	"cordwood/proto/schema"
)

// In the SQL for several tables, columns with values of different classes are converted to texts, and no others.
func TestMixedColumns(t *testing.T) {
	table := func(name string, v, w schema.Type) *Table {
		def := &schema.Table{Database: "public", Name: name, Columns: []schema.Column{
			{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
			{Name: "v", Type: v},
			{Name: "w", Type: w},
		}}
		return &Table{Def: def.Index(), Condition: "TRUE"}
	}
	for _, tt := range []struct {
		a, b *Table
		want []string
	}{
		{table("a", schema.Int64, schema.String), table("b", schema.String, schema.JSON), []string{
			"* REPLACE (CAST(v AS VARCHAR) AS v) FROM a", "* FROM b",
		}},
		{table("a", schema.Int64, schema.Uint8), table("b", schema.Float64, schema.Int32), []string{"* FROM a", "* FROM b"}},
		{table("a", schema.Boolean, schema.TimestampSecond), table("b", schema.Int8, schema.TimestampNanosecond), []string{
			"* REPLACE (CAST(v AS VARCHAR) AS v) FROM a", "* REPLACE (CAST(v AS VARCHAR) AS v) FROM b",
		}},
	} {
		sql := (&Scope{Database: "public", Tables: []*Table{tt.a, tt.b}}).SQL(10)
		for _, part := range tt.want {
			if !strings.Contains(sql, part) {
				t.Errorf("%s has no %q", sql, part)
			}
		}
	}
}
