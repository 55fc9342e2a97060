package shard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold/object"
	"cordwood/shard/query/engine"
)

// changing is a table whose definition changes while it is written, and the rows that it should
// have.
type changing struct {
	t       *testing.T
	r       *rand.Rand
	o       *opened
	history []*schemapb.Table // by version; a writer may have any of them
	merging bool
	filling bool // the table merges rows, and keeps the last value of each column that is not null
	seq     uint64
	rows    []changingRow
	next    uint32 // the id of the next column
	// objects reads rows from object storage; nil if all are local.
	objects *object.Reader
}

// changingRow is a row of the model: its values by column id.
type changingRow struct {
	ts     int64
	host   string
	values map[uint32]any // float64 or string
	gone   bool           // the row deletes the rows with its identity
}

func (c *changing) now() *schemapb.Table { return c.history[len(c.history)-1] }

// change creates the next version of the table.
func (c *changing) change(edit func(d *schemapb.Table)) {
	d := proto.Clone(c.now()).(*schemapb.Table)
	d.Version++
	edit(d)
	c.history = append(c.history, d)
}

// write writes some rows with one of the last versions of the definition. The times span a few
// minutes, so that some rows of a merging table have equal identities.
func (c *changing) write() {
	d := c.history[max(0, len(c.history)-1-c.r.IntN(3))]
	table := schema.FromProto(d)
	var b column.Builder
	var cols []*column.Col
	for _, def := range table.Columns {
		cols = append(cols, b.Add(def))
	}
	deletes := c.merging && c.r.IntN(5) == 0
	var deleted *column.Col
	if deletes {
		deleted = b.Add(schema.DeletedColumn())
	}
	for i := range 1 + c.r.IntN(30) {
		row := changingRow{
			ts: int64(c.r.IntN(90)), host: fmt.Sprint("h", c.r.IntN(3)), values: map[uint32]any{}, gone: deletes,
		}
		if deletes {
			deleted.SetInt(i, 1)
		}
		for k, def := range table.Columns {
			switch {
			case deletes && def.Semantic == schema.Field:
			case def.Semantic == schema.Timestamp:
				cols[k].SetInt(i, row.ts)
			case def.Semantic == schema.Tag:
				cols[k].SetString(i, row.host)
			case c.r.IntN(4) == 0 && !def.NotNull:
			case def.Type.IsFloat():
				v := float64(c.r.IntN(40)) / 2
				cols[k].SetFloat(i, v)
				row.values[def.ID] = v
			case def.Type.IsInteger():
				v := c.r.IntN(20)
				cols[k].SetInt(i, int64(v))
				row.values[def.ID] = float64(v)
			default:
				v := fmt.Sprint("w", c.r.IntN(20))
				cols[k].SetString(i, v)
				row.values[def.ID] = v
			}
		}
		b.EndRow()
		c.rows = append(c.rows, row)
	}
	c.seq++
	h := head(d.Id, 9, c.seq)
	h.SchemaVersion = d.Version
	// The definition is sent with the batch, or a newer one is, or none.
	var defs []*schemapb.Table
	if c.r.IntN(3) > 0 {
		defs = append(defs, c.now())
	}
	data := b.Encode(nil, h)
	_, need, err := c.o.Write(context.Background(), [][]byte{data}, defs)
	if err == nil && len(need) > 0 {
		_, need, err = c.o.Write(context.Background(), [][]byte{data}, []*schemapb.Table{d})
	}
	if err != nil || len(need) > 0 {
		c.t.Fatalf("write as version %d: needs %v, %v", d.Version, need, err)
	}
}

// shown returns, as text, the rows that the table has in the columns of a definition.
func (c *changing) shown(d *schemapb.Table) []string {
	last := map[string]int{}
	var out []changingRow
	for _, row := range c.rows {
		key := fmt.Sprint(row.ts, row.host)
		if at, ok := last[key]; ok && c.merging {
			if before := out[at]; c.filling && !before.gone && !row.gone {
				row.values = maps.Clone(row.values)
				for id, v := range before.values {
					if row.values[id] == nil {
						row.values[id] = v
					}
				}
			}
			out[at] = row
			continue
		}
		last[key] = len(out)
		out = append(out, row)
	}
	var lines []string
	for _, row := range out {
		if row.gone {
			continue
		}
		line := fmt.Sprint(row.ts, "|", row.host)
		for _, col := range d.Columns[2:] {
			v := row.values[col.Id]
			if v == nil && col.NotNull {
				v = *col.DefaultValue
			}
			if v == nil {
				v = "(null)"
			}
			line += fmt.Sprint("|", v)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// alter changes a column of the table, and returns how.
func (c *changing) alter() string {
	cols := c.now().Columns
	at := 2 + c.r.IntN(len(cols)-2)
	switch c.r.IntN(4) {
	case 0:
		if cols[at].Type == schemapb.Type_TYPE_STRING {
			return ""
		}
		c.change(func(d *schemapb.Table) {
			if d.Columns[at].Type == schemapb.Type_TYPE_INT32 && c.r.IntN(2) == 0 {
				d.Columns[at].Type = schemapb.Type_TYPE_INT64
			} else {
				d.Columns[at].Type = schemapb.Type_TYPE_FLOAT64
			}
		})
		return ": widened"
	case 1: // with a new column under the old name
		c.change(func(d *schemapb.Table) {
			old := proto.Clone(d.Columns[at]).(*schemapb.Column)
			d.Columns[at].Name = fmt.Sprintf("c%dv%d", old.Id, d.Version)
			old.Id = c.next
			c.next++
			if len(d.Columns) < 7 {
				d.Columns = append(d.Columns, old)
			}
		})
		return ": renamed"
	case 2: // and added again
		c.change(func(d *schemapb.Table) {
			d.Columns[at].Id = c.next
			c.next++
			if d.Columns[at].Type != schemapb.Type_TYPE_STRING {
				d.Columns[at].Type = schemapb.Type_TYPE_INT32
			}
			d.MinWriterVersion = d.Version // a writer that still has the old column is refused
		})
		c.history = c.history[len(c.history)-1:]
		return ": dropped"
	}
	c.change(func(d *schemapb.Table) {
		kind := schemapb.IndexKind_INDEX_KIND_SKIPPING
		if d.Columns[at].Type == schemapb.Type_TYPE_STRING {
			kind = schemapb.IndexKind_INDEX_KIND_FULLTEXT
		}
		if d.Columns[at].Index == nil {
			d.Columns[at].Index = &schemapb.Index{Kind: kind}
		} else {
			d.Columns[at].Index = nil
		}
	})
	return ": indexed"
}

// addDefault adds a column with a default that older rows show.
func (c *changing) addDefault() string {
	if len(c.now().Columns) > 7 {
		return ""
	}
	seven := "7"
	c.change(func(d *schemapb.Table) {
		d.Columns = append(d.Columns, &schemapb.Column{
			Id: c.next, Name: fmt.Sprintf("c%dv%d", c.next, d.Version), Type: schemapb.Type_TYPE_INT32,
			Semantic: schemapb.Semantic_SEMANTIC_FIELD, NotNull: true, DefaultValue: &seven,
		})
		c.next++
	})
	return ": a default was added"
}

// check compares all rows, and the answers of some statements, with the model.
func (c *changing) check(e *engine.Engine, when string) {
	c.t.Helper()
	d := c.now()
	var list []string
	for _, col := range d.Columns[2:] {
		list = append(list, schema.QuoteIdent(col.Name)+"::VARCHAR")
	}
	got := coldAnswers(c.t, e, c.o, c.objects, d, "SELECT epoch_ms(ts), host, "+strings.Join(list, ", ")+" FROM t1")
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], ".0|", "|")
		got[i] = strings.TrimSuffix(got[i], ".0")
	}
	slices.Sort(got)
	want := c.shown(d)
	if !slices.Equal(got, want) {
		c.t.Fatalf("%s, version %d: %d rows, want %d; not wanted %q, missing %q", when, d.Version, len(got), len(want),
			but(got, want), but(want, got))
	}
	for at, col := range d.Columns {
		if at < 2 {
			continue
		}
		name := schema.QuoteIdent(col.Name)
		if col.Type == schemapb.Type_TYPE_STRING {
			word := fmt.Sprint("w", c.r.IntN(20))
			c.count(e, when, "matches("+name+", '"+word+"')", at, func(v string) bool { return v == word })
			continue
		}
		for op, holds := range map[string]func(order int) bool{
			"=": func(n int) bool { return n == 0 }, "<": func(n int) bool { return n < 0 },
			">=": func(n int) bool { return n >= 0 }, "<>": func(n int) bool { return n != 0 },
		} {
			x := float64(c.r.IntN(44))/2 - 1
			if c.r.IntN(4) == 0 {
				x += 0.25
			}
			c.count(e, when, fmt.Sprint(name, " ", op, " ", x), at, func(v string) bool {
				var f float64
				_, err := fmt.Sscan(v, &f)
				return err == nil && holds(cmp.Compare(f, x))
			})
		}
	}
}

// count compares the number of rows that meet a condition on a column with the model.
func (c *changing) count(e *engine.Engine, when, where string, at int, holds func(v string) bool) {
	c.t.Helper()
	want := 0
	for _, line := range c.shown(c.now()) {
		if holds(strings.Split(line, "|")[at]) {
			want++
		}
	}
	sql := "SELECT count(*) FROM t1 WHERE " + where
	if got := coldAnswers(c.t, e, c.o, c.objects, c.now(), sql)[0]; got != fmt.Sprint(want) {
		c.t.Fatalf("%s, version %d, %s: %s rows, want %d", when, c.now().Version, where, got, want)
	}
}

func but(rows, others []string) []string {
	out := slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(others, row) })
	return out[:min(len(out), 5)]
}

// TestChangingColumns writes, flushes, compacts and restarts a table in random order while its
// columns are widened, renamed, dropped, added under names of former columns, and indexed. It
// shares its files with tables whose columns have the same ids and names. Sometimes its rows cannot
// be written to segments and are kept raw.
func TestChangingColumns(t *testing.T) {
	e := openTestEngine(t)
	for seed := range uint64(16) {
		c := &changing{t: t, r: rand.New(rand.NewPCG(seed, 17)), merging: seed%2 == 1, filling: seed%4 == 3, next: 5}
		first := widening(1, 2, schemapb.Type_TYPE_INT32)
		if c.merging {
			first.Options["append_mode"] = "false"
		}
		if c.filling {
			first.Options["merge_mode"] = "last_non_null"
		}
		c.history = []*schemapb.Table{first}
		var bad atomic.Uint64
		c.o = openUnwritable(t, testConfig(t), &bad)
		c.o.stopCompactor()
		others := []*schemapb.Table{
			widening(2, 2, schemapb.Type_TYPE_INT32), widening(3, 2, schemapb.Type_TYPE_FLOAT64),
			widening(4, 2, schemapb.Type_TYPE_INT64),
		}
		others[0].Columns[3].Name, others[1].Columns[3].Name = "c4v3", "n"
		for step := range 60 {
			when := fmt.Sprintf("seed %d, step %d", seed, step)
			switch c.r.IntN(14) {
			case 0, 1, 2, 3:
				when += c.alter()
			case 4, 5:
				when += ": flushed"
				bad.Store(uint64(c.r.IntN(4) / 3)) // table 1 or none
				if c.r.IntN(2) == 0 {
					for _, d := range others {
						c.seq++
						if _, _, err := c.o.Write(context.Background(), [][]byte{numbersOf(d, 9, c.seq, 5, 1, 2, 3)},
							[]*schemapb.Table{d}); err != nil {
							t.Fatal(err)
						}
					}
				}
				c.o.flush()
			case 6:
				when += ": compacted"
				if err := c.o.compactNow(); err != nil {
					t.Fatal(err)
				}
			case 7:
				when += ": restarted"
				c.o = c.o.reopen()
				c.o.stopCompactor()
			case 8:
				when += ": defined"
				if err := c.o.DefineTable(context.Background(), c.now()); err != nil {
					t.Fatal(err)
				}
			default:
				when += ": written"
				c.write()
			}
			if step%4 == 0 {
				c.check(e, when)
			}
		}
		bad.Store(0)
		c.o.flush()
		c.check(e, fmt.Sprintf("seed %d, flushed", seed))
		if err := c.o.compactNow(); err != nil {
			t.Fatal(err)
		}
		c.check(e, fmt.Sprintf("seed %d, compacted", seed))
		c.o.crash()
	}
}
