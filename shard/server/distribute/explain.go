package distribute

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// fetched begins the text of EXPLAIN about a statement that is not split.
const fetched = "rows of other nodes are fetched"

// Note returns the text of EXPLAIN: how the statement was split, or why rows are fetched.
func (d *Statement) Note() string {
	var b strings.Builder
	if d.split.Reason != "" {
		b.WriteString(fetched + ": " + d.split.Reason)
		d.noteFirst(&b)
		return b.String()
	}
	if d.failed != nil {
		b.WriteString(fetched + ": the statement was split, but " + errs.From(d.failed).Msg)
		d.noteFirst(&b)
		return b.String()
	}
	if d.blocks != nil {
		d.noteBlocks(&b)
		return b.String()
	}
	d.noteEach(&b)
	fmt.Fprintf(&b, "\nlast: %s", cmp.Or(d.split.Final, "the rows of one part after the other"))
	d.noteFirst(&b)
	if best := d.split.Best; best != nil {
		d.noteBest(&b, best)
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

// noteBest writes how the groups with the largest counts are found.
func (d *Statement) noteBest(b *strings.Builder, best *query.Best) {
	enough := slices.ContainsFunc(d.parts, func(p *part) bool { return p.sql != "" && p.streams != nil })
	switch {
	case d.asked == 0 && d.nodes.unproven.has(d.statement()):
		fmt.Fprintf(b, "\nlargest groups: each node sends all groups, because its %d groups with the largest counts were "+
			"not enough in the last %d minutes", best.Rows, keptFor/time.Minute)
	case d.asked == 0:
		fmt.Fprintf(b, "\nlargest groups: each node first sends only its %d groups with the largest counts; if another "+
			"group may be in the answer, it is asked for all", best.Rows)
	case enough:
		fmt.Fprintf(b, "\nlargest groups: the %d groups of each node with the largest counts were enough", best.Rows)
	default:
		fmt.Fprintf(b, "\nlargest groups: each node sent all groups, because its %d groups with the largest counts were not "+
			"enough, now or in the last %d minutes", best.Rows, keptFor/time.Minute)
	}
}

// Ran describes what nodes sent, in lines of EXPLAIN about the statement around this one.
func (d *Statement) Ran() string {
	var b strings.Builder
	parts := []*Statement{d}
	if d.blocks != nil {
		parts = d.different()
	}
	bytes := 0
	for _, of := range parts {
		of.noteNodes(&b)
		for _, p := range of.parts {
			bytes += p.bytes
		}
	}
	return fmt.Sprintf(", %s from nodes", query.CountOf(bytes, "byte")) + strings.ReplaceAll(b.String(), "\n", "\n  ")
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
		rows := ""
		if p.streams != nil {
			rows = rowsOf(p.streams)
		} else if p.passed {
			rows = query.CountOf(p.rows, "row")
		}
		if rows != "" {
			fmt.Fprintf(b, ", %s, %s, %s", rows, query.CountOf(p.bytes, "byte"), p.took.Round(100*time.Microsecond))
		}
		switch {
		case p.sql != "" && d.split.Best == nil && !d.counted:
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
