package pipeline

import "strings"

// For a request with a few rows, the preparation costs more than scanning the rows: the trie learns the keys, and
// every column is looked up in the table and created. So svc_identity keeps the home of a request, with its columns
// and the trie that refers to them, for the next request with the same home.

func (s *sink) warmth() warmth {
	w := warmth{
		database: s.req.Database, timestamp: s.req.TimestampColumn, levels: s.req.MaxNestedLevels,
		columns: s.req.MaxColumns, autoCreate: s.req.AutoCreate, json: strings.Join(s.req.JSON, "\x00"),
	}
	if ti := s.req.TimeIndex; ti != nil {
		w.hasTime, w.time.Field, w.time.Unit = true, ti.Field, ti.Unit
	}
	return w
}

// cool empties the request's home and returns it, if another request can use it. Otherwise it returns nil.
func (r *identity) cool() *dest {
	d := r.home
	if d == nil || d.err != nil || d.parts != nil || d.existing == nil || d.opts != r.base || r.trie.full(r.maxNodes) {
		return nil
	}
	if set, err := noOptions(); err != nil || d.opts != set {
		return nil
	}
	for _, c := range d.rows.Cols() {
		if c.Widened() {
			return nil // the table's column will change in the same way
		}
		if c.FirstRow() >= 0 {
			if have := d.existing.Column(c.Name); have == nil || have.ID != c.ID {
				return nil // new to the table, which has now another version
			}
		}
	}
	d.heat, d.warmed = r.warmth(), true
	d.rows.Restart()
	d.forgetFields()
	d.s, d.asides, d.casts = nil, nil, Aside{}
	d.load, d.lookAt = 0, lookRows
	return d
}

// rewarm uses the warm dest as the home of the current request, if it equals the one that the request would create.
// It reports whether it did.
func (r *identity) rewarm() bool {
	d := r.warm
	r.warm = nil
	if d == nil {
		return false
	}
	same := d.table == r.req.Table && d.opts == r.base && d.heat == r.warmth() && r.req.Catalog != nil
	if same {
		t, ok := r.req.Catalog.Table(r.req.Database, r.req.Table)
		same = ok && t == d.existing && (r.req.Permit == nil || r.req.Permit(d.table, true) == nil)
	}
	if !same {
		d.rows.Reset()
		r.spare = append(r.spare, d.rows)
		return false
	}
	d.s, d.born, d.maxCells = &r.sink, 0, r.minCells
	d.columns = len(d.existing.Columns)
	r.tables, r.columns = 1, len(d.rows.Cols())
	r.dests = append(r.dests, d)
	r.key = append(append(r.key[:0], d.opts.key...), '\n')
	r.byKey[string(r.key)] = d
	r.home = d
	return true
}
