package answers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// The sizes of a round.
const (
	steps             = 16 // changes of tables
	statementsPerStep = 16
	// maxDifferences is the number of differences after which a round ends.
	maxDifferences = 5
)

// tally counts statements by their results.
type tally struct {
	asked, answered, withRows, refused int
	// oneSided counts statements that failed in only one form. This does not count as a difference, because the rows
	// on which a failing expression is evaluated are not defined.
	oneSided int
}

// round is one cluster with tables that depend on a seed.
type round struct {
	*cluster
	*grammar
	tally
	different int
}

// newRound creates the tables of a seed.
func newRound(t testing.TB, seed uint64) *round {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // choices of a test
	nodes := 1 + r.IntN(2)
	w := &round{cluster: newCluster(t, nodes, []int64{1 << 10, 16 << 10, 1 << 20}[r.IntN(3)]), grammar: &grammar{Rand: r}}
	for i := range 7 {
		tab := &table{
			name: fmt.Sprint("t", i+1), mode: []mode{appends, appends, lastRow, lastNonNull}[r.IntN(4)],
			unit: schema.TimestampSecond + schema.Type(r.IntN(4)), when: when(r.IntN(3)), large: i == 0,
		}
		if tab.when == ends && r.IntN(2) == 0 {
			tab.when = recent
		}
		tags := r.IntN(3)
		if tab.mode == appends && r.IntN(2) == 0 {
			tags = 0
		}
		tab.fields = fields(r, tags)
		if i == 6 {
			tab.fields, tab.mode, tab.large, w.narrow = nil, appends, false, tab
		}
		partitions := 1
		if r.IntN(3) == 0 {
			partitions = 2 + r.IntN(groups-1)
		}
		w.create(tab, partitions)
		if tab != w.narrow {
			w.tables = append(w.tables, tab)
		}
	}
	return w
}

// fill writes the first rows. One table gets enough rows for several row groups and pages.
func (w *round) fill() {
	for _, t := range append(w.tables[:len(w.tables):len(w.tables)], w.narrow) {
		if t.large && w.IntN(2) == 0 {
			for range 2 {
				w.write(t, t.some(w.Rand, 21_000+w.IntN(4000)))
				if w.IntN(2) == 0 {
					w.flush()
				}
			}
			continue
		}
		t.large = false
		for range 1 + w.IntN(4) {
			w.write(t, t.some(w.Rand, 50+w.IntN(400)))
			if w.IntN(2) == 0 {
				w.flush()
			}
		}
	}
}

// run changes the tables and runs statements, until there are too many differences or stop returns
// true.
func (w *round) run(stop func() bool) {
	w.fill()
	for _, t := range w.tables {
		w.check(t)
	}
	w.check(w.narrow)
	for range steps {
		t := w.tables[w.IntN(len(w.tables))]
		w.change(t)
		w.check(t)
		for range statementsPerStep {
			marked, o := w.statement()
			w.compare(marked, o)
			if w.different >= maxDifferences || w.t.Failed() && w.different == 0 || stop() {
				return
			}
		}
	}
}

// change changes rows, files or columns.
func (w *round) change(t *table) {
	switch w.IntN(22) {
	case 0, 1:
		w.write(t, t.some(w.Rand, 1+w.IntN(300)))
	case 2:
		w.write(t, t.some(w.Rand, 1+w.IntN(5)))
	case 3, 4, 5:
		w.write(t, t.some(w.Rand, 1+w.IntN(200)))
		w.flush()
	case 6:
		w.flush()
		w.compact()
	case 7:
		w.addColumn(t)
	case 8:
		w.dropColumn(t)
	case 9, 10:
		w.deleteRows(t)
	case 11:
		w.dropColumn(t)
		w.addColumn(t)
		w.write(t, t.some(w.Rand, 1+w.IntN(100)))
	case 12, 13, 14:
		w.ingest(t)
		if w.IntN(3) == 0 {
			w.flush()
		}
	case 15, 16:
		w.modify(t)
		w.write(t, t.some(w.Rand, 1+w.IntN(100)))
	case 17, 18:
		w.rename(t)
	case 19:
		w.index(t)
		w.write(t, t.some(w.Rand, 1+w.IntN(200)))
		w.flush()
	case 20:
		w.truncate(t)
	case 21:
		w.spread(t)
	}
}

// truncate deletes all rows, and mostly writes others.
func (w *round) truncate(t *table) {
	w.must(one(w.grammar, "TRUNCATE TABLE ", "TRUNCATE ") + t.name)
	t.rows, t.large = nil, false
	for _, f := range t.fields {
		f.wide = false
	}
	if w.IntN(6) > 0 {
		w.write(t, t.some(w.Rand, 20+w.IntN(300)))
	}
}

// spread changes the number of shards of a table that merges nothing. Its rows stay in the shards of before.
func (w *round) spread(t *table) {
	if t.mode != appends {
		return
	}
	w.must(fmt.Sprintf("ALTER TABLE %s SET 'partitions'='%d'", t.name, 1+w.IntN(groups)))
	w.write(t, t.some(w.Rand, 20+w.IntN(200)))
	if w.IntN(2) == 0 {
		w.flush()
	}
}

// free returns the columns that a table could have but lacks.
func (w *round) free(t *table) []*field {
	return slices.DeleteFunc(fields(w.Rand, 0), func(f *field) bool { return t.field(f.name) != nil })
}

// addColumn adds a column, sometimes with the name of a dropped or renamed column.
func (w *round) addColumn(t *table) {
	free := w.free(t)
	if len(free) == 0 || w.IntN(2) == 0 {
		t.added++
		types := []schema.Type{schema.Int32, schema.String, schema.Float64, schema.Boolean, schema.Uint8}
		f := &field{name: fmt.Sprint("c", t.added), typ: types[w.IntN(len(types))]}
		for _, like := range fields(w.Rand, 0) {
			if like.typ == f.typ {
				f.values = like.values
			}
		}
		free = []*field{f}
	}
	w.add(t, free[w.IntN(len(free))])
}

// add adds a column, sometimes with a default.
func (w *round) add(t *table, f *field) {
	sql := "ALTER TABLE " + t.name + " ADD COLUMN " + f.sql()
	literal, shown := "", any(nil)
	switch {
	case f.typ == schema.String:
		literal, shown = "'5'", "5"
	case f.typ == schema.Boolean:
		literal, shown = "true", int64(1)
	case f.typ.IsInteger():
		literal, shown = "5", int64(5)
	case f.typ == schema.Float64:
		literal, shown = "1.5", 1.5
	}
	if literal != "" && !strings.Contains(sql, " INDEX") {
		switch w.IntN(3) {
		case 0:
			sql += " NOT NULL DEFAULT " + literal
			f.notNull, f.shown, f.missing = true, shown, shown
			f.values = orElse(f.values, shown)
		case 1:
			sql += " NULL DEFAULT " + literal
			f.missing = shown
		}
	}
	w.must(sql)
	t.fields = append(t.fields, f)
}

// dropColumn drops a field that no statement needs.
func (w *round) dropColumn(t *table) {
	var some []*field
	for _, f := range t.fields {
		if !f.tag && !slices.Contains(kept, f.name) {
			some = append(some, f)
		}
	}
	if len(some) == 0 {
		return
	}
	f := some[w.IntN(len(some))]
	w.must("ALTER TABLE " + t.name + " DROP COLUMN " + f.name)
	t.fields = slices.DeleteFunc(t.fields, func(o *field) bool { return o == f })
}

// deleteRows deletes by a condition on the key. The model loses the rows that an opaque SELECT with
// this condition returns.
func (w *round) deleteRows(t *table) {
	if t.mode == appends {
		return
	}
	keys := &table{name: t.name, unit: t.unit, rows: t.rows}
	for _, f := range t.fields {
		if f.tag {
			keys.fields = append(keys.fields, f)
		}
	}
	s := scope{table: keys}
	cond := w.timeCondition(s)
	if len(keys.fields) > 0 && w.IntN(2) == 0 {
		f := keys.fields[w.IntN(len(keys.fields))]
		cond += " AND " + w.comparison(f.name, func() string { return w.literal(f) })
	}
	names := keys.columnList()
	found, err := w.ask(opaque("SELECT " + names + " FROM " + from(s) + " WHERE " + wrap(cond)))
	if err != nil || len(found.rows) > len(t.visible())/3 {
		return
	}
	sql := "DELETE FROM " + t.name + " WHERE " + cond
	a, err := w.ask(sql)
	if err != nil {
		if e := errs.From(err); e.Code != errs.InvalidArguments && e.Code != errs.InvalidSyntax {
			w.t.Logf("%s: %v", sql, err)
		}
		return
	}
	if int(a.affected) != len(found.rows) {
		w.different++
		w.t.Errorf("%s\ndeleted %d rows, %d meet the condition", sql, a.affected, len(found.rows))
	}
	gone := map[string]bool{}
	for _, row := range found.rows {
		gone[strings.Join(row, "|")] = true
	}
	for _, r := range t.visible() {
		if gone[keys.identity(r)] {
			t.rows = append(t.rows, &record{ts: r.ts, cells: r.cells, deleted: true})
		}
	}
}

// compare runs a statement in both forms.
func (w *round) compare(marked string, o order) {
	w.asked++
	plain, sql := opaque(marked), asIs(marked)
	got, err := w.ask(sql)
	want, werr := w.ask(plain)
	for _, err := range []error{err, werr} {
		if err != nil && errs.From(err).Code.Masked() {
			w.different++
			w.t.Errorf("an internal error reached the client: %v\n  %s\n  %s", err, sql, plain)
			return
		}
	}
	switch {
	case err != nil && werr != nil:
		w.refused++
		return
	case err != nil || werr != nil:
		w.oneSided++
		w.t.Logf("only one form is refused: %v %v\n  %s\n  %s", err, werr, sql, plain)
		return
	}
	w.answered++
	if len(want.rows) > 1 {
		w.withRows++
	}
	if !same(want, got, o) {
		w.different++
		columns := ""
		if want.columns != got.columns {
			columns = "\nwant columns " + want.columns + "\n got columns " + got.columns
		}
		w.t.Errorf("two answers to\n  %s\nand\n  %s%s\n%s", sql, plain, columns,
			difference(lines(want.rows), lines(got.rows)))
	}
}
