package distribute

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// Note returns the text of EXPLAIN: how the statement was split, or why rows are fetched.
func (d *Statement) Note() string {
	if d.split.Reason != "" {
		return "rows of other nodes are fetched: " + d.split.Reason
	}
	if d.failed != nil {
		return "rows of other nodes are fetched: " + errs.From(d.failed).Msg
	}
	var b strings.Builder
	if d.blocks != nil {
		d.noteBlocks(&b)
		return b.String()
	}
	d.noteEach(&b)
	fmt.Fprintf(&b, "\nlast: %s", cmp.Or(d.split.Final, "the rows of one part after the other"))
	d.noteFirst(&b)
	if best := d.split.Best; best != nil {
		fmt.Fprintf(&b, "\nfirst: each node's %d groups with the largest counts, all if these prove nothing", best.Rows)
	}
	if d.split.Hashed != nil {
		b.WriteString("\nif the values are too large: a hash of each, and the values whose hashes come several times")
	}
	if d.counted {
		fmt.Fprintf(&b, "\ncounted by their hashes: %d hashes", d.sentHashes)
	}
	d.noteTimes(&b)
	d.noteNodes(&b)
	return b.String()
}

// noteEach writes how the statement was split, and what each node runs.
func (d *Statement) noteEach(b *strings.Builder) {
	shards := 0
	for _, p := range d.parts {
		shards += len(p.shards)
	}
	fmt.Fprintf(b, "%s: %s over %s, in %s\neach: %s", d.split.Table, d.split.Kind, query.CountOf(shards, "shard"),
		query.CountOf(len(d.parts), "part"), d.split.Worker)
}

// noteTimes writes how long the stages took, if the statement ran.
func (d *Statement) noteTimes(b *strings.Builder) {
	if d.asked > 0 {
		fmt.Fprintf(b, "\nthe statement was split in %s", d.planned.Round(10*time.Microsecond))
		fmt.Fprintf(b, "\nall nodes had answered after %s: %s", d.asked.Round(100*time.Microsecond),
			query.CountOf(d.bytes.Load(), "byte"))
	}
}

// noteNodes writes what each node reads, and what it returned.
func (d *Statement) noteNodes(b *strings.Builder) {
	for _, p := range d.parts {
		fmt.Fprintf(b, "\nnode %s: shards %s", d.nodes.name(p.node), strings.Trim(fmt.Sprint(p.shards), "[]"))
		if p.streams != nil {
			fmt.Fprintf(b, ", %s, %s, %s", rowsOf(p.streams), query.CountOf(p.bytes, "byte"),
				p.took.Round(100*time.Microsecond))
		}
		switch {
		case p.sql != "" && d.split.Best != nil:
			fmt.Fprintf(b, ", the %d largest groups are enough", d.split.Best.Rows)
		case p.sql != "" && !d.counted:
			b.WriteString(", asked again with a bound for the time")
		}
		if st := p.stages; st != nil {
			fmt.Fprintf(b, "\n  rows found in %s, statement run in %s",
				time.Duration(st.GatherNanos).Round(10*time.Microsecond), time.Duration(st.RunNanos).Round(10*time.Microsecond))
		}
		if p.reads != "" {
			b.WriteString("\n  " + p.reads)
		}
	}
}

// rowsOf returns the number of rows of Arrow IPC streams, as a text.
func rowsOf(streams [][]byte) string {
	rows := int64(0)
	for _, stream := range streams {
		r, err := partial.NewReader(stream)
		if err != nil {
			return "? rows"
		}
		for r.Next() {
			rows += r.RecordBatch().NumRows()
		}
		r.Release()
	}
	return query.CountOf(rows, "row")
}

// name returns the name of a node.
func (n *Nodes) name(node string) string {
	if n.cfg.Name == nil {
		return cmp.Or(node, "?")
	}
	return cmp.Or(n.cfg.Name(node), node, "?")
}
