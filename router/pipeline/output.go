package pipeline

import (
	"cmp"
	"maps"
	"slices"

	"cordwood/proto/schema"
)

// The most that Release keeps for the next request.
const (
	keepBytes   = 32 << 20
	keepColumns = 4096
)

// Finish ends the input.
func (r *identity) Finish() (*Output, error) {
	out := &Output{Records: r.records, Skipped: r.skips.total, SkippedBy: r.skips.kinds, Reasons: r.skips.reasons}
	slices.SortStableFunc(r.dests, func(a, b *dest) int { return cmp.Compare(a.born, b.born) })
	for _, d := range r.dests {
		if d.rows.Rows() == 0 {
			continue
		}
		discard := d.opts.instant
		if d.existing != nil {
			discard = d.existing.Options[schema.OptionTTL] == "instant"
		}
		d.rows.Finish()
		out.Tables = append(out.Tables, &TableRows{
			Database: r.req.Database, Table: d.table, Options: maps.Clone(d.opts.options),
			NoCreate: d.opts.noCreate || !r.req.AutoCreate, Discard: discard,
			Existing: d.existing, Rows: d.rows,
		})
	}
	return out, nil
}

// Release gives the memory back.
func (r *identity) Release() {
	size := cap(r.scratch) + cap(r.exact.members)*48 + cap(r.exact.names)
	for _, d := range r.dests {
		size += d.rows.ByteSize()
	}
	if size > keepBytes || r.columns > keepColumns {
		return
	}
	for _, d := range r.dests {
		d.rows.Reset()
		r.spare = append(r.spare, d.rows)
	}
	clear(r.byKey)
	clear(r.dests)
	*r = identity{
		dests: r.dests[:0], byKey: r.byKey, trie: r.trie, stamp: r.stamp, exact: r.exact, fresh: r.fresh[:0],
		writer: r.writer, scratch: r.scratch, quoted: r.quoted, key: r.key, name: r.name, varText: r.varText, spare: r.spare,
	}
	identities.Put(r)
}
