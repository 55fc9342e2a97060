package server

import (
	"cmp"
	"fmt"
	"strings"

	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// namedColumns is the maximum number of columns of a table whose names EXPLAIN shows for fetched rows.
const namedColumns = 20

// noteFetches returns the lines of EXPLAIN about the rows that are fetched from other nodes: the shards, the columns
// and the condition for each table. runs is whether they are really fetched.
func noteFetches(req *shardpb.QueryRequest, needs []query.Need, fetches []fetch, runs bool) string {
	var b strings.Builder
	for i, t := range req.Tables {
		need := &needs[i]
		if need.IDs == nil {
			continue // the statement does not read the table
		}
		var shards []string
		for _, f := range fetches {
			if f.table == i {
				shards = append(shards, fmt.Sprint(f.shard))
			}
		}
		if len(shards) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s.%s: shards %s, %s", t.Name.Database, t.Name.Name, strings.Join(shards, " "),
			columnsOf(need))
		if need.Where != "" {
			fmt.Fprintf(&b, ", WHERE %s", need.Where)
		} else {
			b.WriteString(", all rows")
		}
	}
	if !runs {
		b.WriteString("\nnothing was fetched: the segments and the plan are those of this node's rows. " +
			"EXPLAIN ANALYZE fetches the rows.")
	}
	return b.String()
}

// columnsOf names the columns that are fetched.
func columnsOf(need *query.Need) string {
	names := need.Columns
	switch n := len(names); {
	case n == 0:
		return "no columns, only the number of rows"
	case n == 1:
		return "column " + names[0]
	case n > namedColumns:
		return fmt.Sprintf("columns %s and %d more", strings.Join(names[:namedColumns], ", "), n-namedColumns)
	}
	return "columns " + strings.Join(names, ", ")
}

// withFetches adds the lines about fetched rows to the text of EXPLAIN about the split.
func withFetches(note, fetches string) string {
	if fetches == "" {
		return note
	}
	return cmp.Or(note, "rows of other nodes are fetched") + fetches
}
