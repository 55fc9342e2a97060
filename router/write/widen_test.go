package write

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// tableOf returns table a with one field, n.
func tableOf(n schema.Column, options ...string) *schema.Table {
	n.ID, n.Name, n.Semantic = 2, "n", max(n.Semantic, schema.Field)
	t := &schema.Table{
		ID: 1, Database: "public", Name: "a", Version: 4, NextColumnID: 9, Options: map[string]string{},
		Columns: []schema.Column{
			{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true}, n,
		}, Placement: []schema.Placement{{Epoch: 1}},
	}
	for i := 0; i < len(options); i += 2 {
		t.Options[options[i]] = options[i+1]
	}
	return t.Index()
}

// numbers returns rows of table a with the integers in column n, followed by the fractions, if there are any. If
// the pipeline saw a table, the rows have its columns.
func numbers(seen *schema.Table, integers []int64, fractions ...float64) *pipeline.TableRows {
	b := &column.Builder{}
	ts := schema.Column{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true}
	n := field("n", schema.Int64)
	if seen != nil {
		ts, n = *seen.Column("ts"), *seen.Column("n")
	}
	at, col := b.Add(ts), b.Add(n)
	for i := range len(integers) + len(fractions) {
		at.SetInt(i, int64(i))
		switch {
		case i < len(integers) && col.Type.IsFloat():
			col.SetFloat(i, float64(integers[i]))
		case i < len(integers):
			col.SetInt(i, integers[i])
		default:
			if col.Type.IsInteger() {
				col.Widen()
			}
			col.SetFloat(i, fractions[i-len(integers)])
		}
		b.EndRow()
	}
	return &pipeline.TableRows{Database: "public", Table: "a", Existing: seen, Rows: b}
}

const wideInteger = 1<<53 + 1

// TestWidening checks which changes a write requests, and which column it sends to shards, if the table's column
// has another type or may become Float64.
func TestWidening(t *testing.T) {
	marked := schema.Column{Type: schema.Int64, WithinDouble: true}
	for _, tt := range []struct {
		name    string
		table   *schema.Table
		seen    *schema.Table
		ints    []int64
		floats  []float64
		want    string // the batch's column, or the error
		now     string // the table's
		ensured int
	}{
		{"a fraction widens", tableOf(marked), tableOf(marked), []int64{1}, []float64{1.5}, "Float64 1 1.5", "Float64", 1},
		{
			"a fraction of a pipeline that saw no table", tableOf(marked), nil,
			[]int64{1},
			[]float64{1.5},
			"Float64 1 1.5", "Float64", 1,
		},
		{
			"a small integer needs no mark", tableOf(schema.Column{Type: schema.Uint16}), nil, nil,
			[]float64{1.5},
			"Float64 1.5", "Float64", 1,
		},
		{
			"without the mark", tableOf(schema.Column{Type: schema.Int64}), nil, nil,
			[]float64{1.5},
			"!expected Int64, given Float64", "Int64", 0,
		},
		{
			"error", tableOf(marked, "on_type_conflict", "error"), nil, nil,
			[]float64{1.5},
			"!expected Int64, given Float64", "Int64 within", 0,
		},
		{
			"a tag", tableOf(schema.Column{Type: schema.Int64, Semantic: schema.Tag, WithinDouble: true}), nil, nil,
			[]float64{1.5},
			"!expected Int64", "Int64 within", 0,
		},
		{
			"integers become floats", tableOf(schema.Column{Type: schema.Float64}), nil,
			[]int64{-3, 1 << 53},
			nil,
			"Float64 -3 9007199254740992", "Float64", 0,
		},
		{
			"a wide integer becomes none", tableOf(schema.Column{Type: schema.Float64}), nil,
			[]int64{wideInteger},
			nil,
			"!expected Float64, given Int64", "Float64", 0,
		},
		{
			"known integers ask for nothing", tableOf(marked), tableOf(marked),
			[]int64{1 << 53},
			nil,
			"Int64 9007199254740992", "Int64 within", 0,
		},
		{
			"a wide integer takes the mark", tableOf(marked), tableOf(marked),
			[]int64{1, -wideInteger},
			nil,
			"Int64 1 -9007199254740993", "Int64", 1,
		},
		{
			"a wide integer of a pipeline that saw no table", tableOf(marked), nil,
			[]int64{wideInteger},
			nil,
			"Int64 9007199254740993", "Int64", 1,
		},
		{
			"and there is none to take", tableOf(schema.Column{Type: schema.Int64}), nil,
			[]int64{wideInteger},
			nil,
			"Int64 9007199254740993", "Int64", 0,
		},
		{
			"a wide integer while the rows are looked at", tableOf(schema.Column{Type: schema.Int64, Checking: true}),
			tableOf(schema.Column{Type: schema.Int64, Checking: true}),
			[]int64{wideInteger},
			nil,
			"Int64 9007199254740993", "Int64", 1,
		},
		{
			"the table was widened meanwhile", tableOf(schema.Column{Type: schema.Float64}),
			func() *schema.Table { t := tableOf(marked); t.Version = 3; return t }(),
			[]int64{5},
			nil, "Float64 5",
			"Float64", 0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, s := newFakeMeta(), &fakeShards{}
			m.put(tt.table)
			if tt.seen != nil && tt.seen.Version == tt.table.Version {
				tt.seen = tt.table
			}
			res, err := newWriter(t, m, s).Write(t.Context(), output(numbers(tt.seen, tt.ints, tt.floats...)))
			if want, fails := strings.CutPrefix(tt.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrSchemaChanged) ||
					errs.CodeOf(err) != errs.TableUnavailable || s.calls > 0 {
					t.Errorf("error %v after %d calls, want %s", err, s.calls, want)
				}
			} else if err != nil {
				t.Fatal(err)
			} else if got := columnText(s.got[0].batch.Column(2)); got != tt.want {
				t.Errorf("the shard got %s, want %s", got, tt.want)
			}
			c := m.tables["public.a"].Column("n")
			now := c.Type.String()
			if c.WithinDouble {
				now += " within"
			}
			if now != tt.now || c.Checking || m.ensured != tt.ensured {
				t.Errorf("the column is %s after %d commands, want %s after %d", now, m.ensured, tt.now, tt.ensured)
			}
			became := slices.ContainsFunc(res.Warnings, func(s string) bool {
				return strings.Contains(s, "column n of table public.a became Float64")
			})
			if want := tt.table.Column("n").Type != schema.Float64 && c.Type == schema.Float64; became != want {
				t.Errorf("warnings %q", res.Warnings)
			}
		})
	}
}

func columnText(v *column.View) string {
	text := v.Type.String()
	for row := range v.Rows {
		if v.Type.IsFloat() {
			text += fmt.Sprintf(" %.16g", v.Float(row))
		} else {
			text += fmt.Sprint(" ", v.Int(row))
		}
	}
	return text
}

// TestWideningOfANewTable writes encoded integers and fractions to a table that the request creates, with
// different options.
func TestWideningOfANewTable(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	integers, fractions := numbers(nil, []int64{1, 2}), numbers(nil, nil, 0.5)
	integers.Parts = []*column.Sealed{integers.Rows.Seal()}
	fractions.Options = map[string]string{"ttl": "1day"}
	res, err := newWriter(t, m, s).Write(t.Context(), output(integers, fractions))
	if err != nil || m.ensured != 1 || len(res.Warnings) != 0 {
		t.Fatalf("error %v after %d commands, warnings %q", err, m.ensured, res.Warnings)
	}
	if c := m.tables["public.a"].Column("n"); c.Type != schema.Float64 || c.WithinDouble {
		t.Errorf("the column is %+v", c)
	}
	var got []string
	for _, b := range s.got {
		got = append(got, columnText(b.batch.Column(2)))
	}
	if slices.Sort(got); !slices.Equal(got, []string{"Float64 0.5", "Float64 1 2"}) {
		t.Errorf("the shard got %q", got)
	}
}

// TestAdaptedValues checks that values that were stored as text or converted cause warnings and are counted.
func TestAdaptedValues(t *testing.T) {
	tr := numbers(nil, []int64{1})
	tr.Asides, tr.Cast = []pipeline.Aside{{Column: "n", Count: 3, First: "x"}}, 2
	reg := prometheus.NewRegistry()
	w, err := New(Config{Meta: newFakeMeta(), Shards: &fakeShards{}, Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.Write(t.Context(), output(tr))
	if err != nil || len(res.Warnings) != 2 || !strings.HasPrefix(res.Warnings[0],
		"3 values of the column n of table public.a were put aside, as text in n_conflict") {
		t.Errorf("error %v, warnings %q", err, res.Warnings)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "cordwood_write_type_conflicts_total" {
			for _, m := range f.GetMetric() {
				got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	if want := map[string]float64{"aside": 3, "cast": 2, "widened": 0}; !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
