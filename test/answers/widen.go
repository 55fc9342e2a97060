package answers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// This file changes columns that keep their rows: their names, types and indexes.

// kept lists the columns that statements use by themselves.
var kept = []string{"host", "svc", "id", "req", "i8", "i16", "i32", "ok", "j", "msg"}

// rename renames a column, often to the former name of another column, and often gives its former
// name to a new column at once.
func (w *round) rename(t *table) {
	f := t.fields[w.IntN(len(t.fields))]
	if f.name == "id" { // rows are ordered by this column
		w.renameTime(t)
		return
	}
	former := f.name
	t.added++
	name := fmt.Sprint("r", t.added)
	if free := w.free(t); len(free) > 0 && w.IntN(2) == 0 {
		name = free[w.IntN(len(free))].name
	}
	f.name = name
	w.must("ALTER TABLE " + t.name + " RENAME COLUMN " + former + " TO " + f.name)
	switch {
	case slices.Contains(kept, former):
		for _, like := range fields(w.Rand, 0) {
			if like.name == former {
				w.add(t, like)
			}
		}
	case w.IntN(2) == 0:
		list := fields(w.Rand, 0)
		like := list[w.IntN(len(list))]
		if like.name != "id" {
			like.name, like.index = former, ""
			w.add(t, like)
		}
	}
	if w.IntN(2) == 0 {
		w.write(t, t.some(w.Rand, 1+w.IntN(100)))
	}
}

// renameTime writes rows while the time index has another name.
func (w *round) renameTime(t *table) {
	w.must("ALTER TABLE " + t.name + " RENAME COLUMN ts TO moment")
	w.write(t, t.some(w.Rand, 1+w.IntN(100)))
	if w.IntN(2) == 0 {
		w.flush()
	}
	want := len(t.visible())
	if got := w.must("SELECT moment FROM " + t.name + " ORDER BY moment DESC").rows; len(got) != want {
		w.different++
		w.t.Errorf("%s has %d rows by another time index, want %d", t.name, len(got), want)
	}
	w.must("ALTER TABLE " + t.name + " RENAME COLUMN moment TO ts")
}

// index gives a column an index, or removes its index.
func (w *round) index(t *table) {
	f := t.fields[w.IntN(len(t.fields))]
	alter := "ALTER TABLE " + t.name + " MODIFY COLUMN " + f.name
	if f.index != "" && w.IntN(2) == 0 {
		w.must(alter + " UNSET " + f.index + " INDEX")
		f.index = ""
		return
	}
	f.index = one(w.grammar, "SKIPPING", "INVERTED")
	if f.typ == schema.String && w.IntN(3) == 0 {
		f.index = "FULLTEXT"
	}
	w.must(alter + " SET " + f.index + " INDEX")
}

// modify changes the type of a column to a wider one, and tries other types, which must fail.
func (w *round) modify(t *table) {
	f, ok := w.numeric(t)
	if !ok {
		return
	}
	types := schema.Types()
	to := types[w.IntN(len(types))]
	if w.IntN(3) > 0 {
		types = slices.DeleteFunc(types, func(to schema.Type) bool {
			return to == f.typ || f.typ.Widens(to) == schema.WidensNever
		})
		if len(types) == 0 {
			return
		}
		to = types[w.IntN(len(types))]
	}
	allowed := to == f.typ
	switch {
	case f.tag:
	case f.typ.Widens(to) == schema.WidensAlways:
		allowed = true
	case f.typ.Widens(to) == schema.WidensIfExact:
		allowed = !f.wide || !slices.ContainsFunc(t.visible(), func(r *record) bool { return f.blurred(r.cells[f]) })
	}
	sql := "ALTER TABLE " + t.name + one(w.grammar, " MODIFY COLUMN ", " MODIFY ") + f.name + " " + to.SQL()
	if w.IntN(4) == 0 {
		sql = "ALTER TABLE " + t.name + " ALTER COLUMN " + f.name + one(w.grammar, " TYPE ", " SET DATA TYPE ") + to.SQL()
	}
	_, err := w.ask(sql)
	switch {
	case err == nil && !allowed:
		w.different++
		w.t.Errorf("%s: the %s column was changed (a row has a value beyond ±2^53: %t)", sql, f.typ, f.wide)
	case err != nil && allowed:
		w.different++
		w.t.Errorf("%s: %v", sql, err)
	case err != nil && errs.From(err).Code != errs.InvalidArguments:
		w.different++
		w.t.Errorf("%s should fail because the type is not wider: %v", sql, err)
	}
	if err == nil {
		t.retype(w.Rand, f, to)
	}
}

// numeric chooses a column of numbers.
func (w *round) numeric(t *table) (*field, bool) {
	var some []*field
	for _, f := range t.fields {
		if f.name != "id" && (f.typ.IsInteger() || f.typ.IsFloat()) {
			some = append(some, f)
		}
	}
	if len(some) == 0 {
		return nil, false
	}
	return some[w.IntN(len(some))], true
}

// blurred reports whether a Float64 cannot hold a value of the column exactly.
func (f *field) blurred(v any) bool {
	n, ok := v.(int64)
	return ok && f.typ.IsInteger() && !f.typ.Exact(n)
}

// retype changes a column to a wider type in the model.
func (t *table) retype(r *rand.Rand, f *field, to schema.Type) {
	if to == f.typ {
		return
	}
	wider := func(v any) any {
		if n, ok := v.(int64); ok && to == schema.Float64 {
			return f.typ.FloatOf(n)
		}
		return v
	}
	for _, row := range t.rows {
		if v, ok := row.cells[f]; ok {
			row.cells[f] = wider(v)
		}
	}
	f.shown, f.missing = wider(f.shown), wider(f.missing)
	small := f.typ.IsInteger() && f.typ.Widens(schema.Float64) == schema.WidensAlways
	switch {
	case to != schema.Float64:
		f.values = integers(to)
	case small && r.IntN(2) == 0:
		f.values, f.halves = pick(0.0, 0.5, 1.0, -1.0, 1.5, 42.0, -2.25, 300.0), true
	default:
		f.values = floats(false)
	}
	if f.notNull {
		f.values = orElse(f.values, f.missing)
	}
	f.typ = to
}

// orElse returns values with null replaced by instead.
func orElse(values func(*rand.Rand) any, instead any) func(*rand.Rand) any {
	return func(r *rand.Rand) any {
		if v := values(r); v != nil {
			return v
		}
		return instead
	}
}

// ingest sends records as JSON, with integers and fractions for a column of numbers. A column of integers becomes
// Float64 with the first fraction, unless it had an integer beyond ±2^53 at some time. In that case the request must
// store nothing.
func (w *round) ingest(t *table) {
	f, ok := w.numeric(t)
	if !ok || f.tag || f.typ == schema.Float32 {
		return
	}
	rows := t.some(w.Rand, 1+w.IntN(30))
	fraction, wide := w.renumber(t, f, rows)
	widens := f.typ.IsInteger() && fraction
	becomesFloat := widens || f.typ == schema.Float64
	taken := !becomesFloat || !wide && (!widens || !f.wide)

	err := w.send(t, rows)
	if (err == nil) != taken || err != nil && errs.From(err).Code != errs.InvalidArguments {
		w.different++
		w.t.Errorf("%s: records for %s %s, fractions %t, integers beyond ±2^53 in them %t and before %t: error %v",
			t.name, f.name, f.typ, fraction, wide, f.wide, err)
	}
	if err != nil {
		return
	}
	if widens {
		t.retype(w.Rand, f, schema.Float64)
	}
	for _, row := range rows {
		if n, ok := row.cells[f].(int64); ok && becomesFloat {
			row.cells[f] = float64(n)
		}
	}
	t.take(rows)
}

// renumber sets new values of column f in the rows, and the default values in other columns. It reports whether the
// values have a fraction, and whether an integer is beyond ±2^53.
func (w *round) renumber(t *table, f *field, rows []*record) (fraction, wide bool) {
	fractions, wides := w.IntN(3) > 0, f.typ.IsInteger() && w.IntN(4) == 0 || w.IntN(12) == 0
	for _, row := range rows {
		for _, o := range t.fields {
			if o.tag || o.name == "id" {
				continue
			}
			if delete(row.cells, o); o.missing != nil {
				row.cells[o] = o.missing
			}
		}
		switch {
		case fractions && w.IntN(2) == 0:
			row.cells[f], fraction = one(w.grammar, 0.5, 1.5, -2.25, 1e3, 42.0), true
		case wides && f.typ.Widens(schema.Float64) != schema.WidensAlways && w.IntN(4) == 0,
			wides && f.typ == schema.Float64 && w.IntN(4) == 0:
			row.cells[f], wide = int64(1<<53+1+2*w.IntN(9)), true
		case w.IntN(4) > 0:
			row.cells[f] = int64(w.IntN(100))
		}
	}
	return fraction, wide
}

// send ingests rows as JSON with the pipeline that derives types from the data. Columns with their default value are
// left out.
func (c *cluster) send(t *table, rows []*record) error {
	run, err := pipeline.NewIdentity(&pipeline.Request{
		Database: schema.DefaultDatabase, Table: t.name, Catalog: c.meta, AutoCreate: true,
		TimeIndex: &pipeline.TimeIndex{Field: "ts", Unit: t.unit},
	})
	if err != nil {
		return err
	}
	defer run.Release()
	for _, row := range rows {
		if err := run.ScanLine([]byte(row.json(t))); err != nil {
			return err
		}
	}
	out, err := run.Finish()
	if err != nil {
		return err
	}
	_, err = c.writer.Write(c.ctx, out)
	return err
}

// json returns a row as a JSON record.
func (r *record) json(t *table) string {
	parts := []string{`"ts":` + strconv.FormatInt(r.ts, 10)}
	for _, f := range t.fields {
		v := r.cells[f]
		if v == nil || v == f.missing {
			continue
		}
		text := ""
		switch v := v.(type) {
		case float64:
			text = strconv.FormatFloat(v, 'e', -1, 64) // with an exponent it is not an integer
		case string:
			quoted, _ := json.Marshal(v) // texts never fail
			text = string(quoted)
		default:
			text = cell(f, v)
		}
		parts = append(parts, strconv.Quote(f.name)+":"+text)
	}
	return "{" + strings.Join(parts, ",") + "}"
}
