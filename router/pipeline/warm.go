package pipeline

import "strings"

// A request of a few rows costs less to scan than to prepare for: the trie learns its
// keys, and every column is looked up in the table and made. So svc_identity keeps the
// home of a request, with its columns and the trie that points to them, for the next
// request that would make the same.

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

// cool returns the request's home if it can serve another request, emptied; else nil.
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
			return nil // and so will the table's column be
		}
		if c.FirstRow() >= 0 {
			if have := d.existing.Column(c.Name); have == nil || have.ID != c.ID {
				return nil // new to the table, which is now another version
			}
		}
	}
	d.heat, d.warmed = r.warmth(), true
	d.rows.Restart()
	d.s, d.guess, d.asides, d.casts = nil, d.guess[:0], nil, Aside{}
	d.load, d.lookAt = 0, lookRows
	return d
}

// rewarm makes the warm dest the home of the request that has begun, if it is what the
// request would make, and reports whether it did.
func (r *identity) rewarm() bool {
	d := r.warm
	r.warm = nil
	if d == nil {
		return false
	}
	same := d.table == r.req.Table && d.opts == r.base && d.heat == r.warmth() && r.req.Catalog != nil
	if same {
		t, ok := r.req.Catalog.Table(r.req.Database, r.req.Table)
		same = ok && t == d.existing
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
