package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/server/distribute"
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

// fetched describes the answer to a fetch.
type fetched struct {
	fetch
	// progress is told about the rows.
	progress    *runningQuery
	node        string
	rows, bytes int64
	took        time.Duration
}

// answeredBy records which node sent rows.
func (f *fetched) answeredBy(r distribute.Reader, bytes int64, took time.Duration) {
	if of, ok := r.(interface{ Node() string }); ok {
		f.node = of.Node()
	}
	f.bytes, f.took = bytes, took
}

// noteFetched returns the lines of EXPLAIN ANALYZE about the rows that nodes have sent.
func (s *server) noteFetched(req *shardpb.QueryRequest, list []fetched) string {
	slices.SortFunc(list, func(a, b fetched) int {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.shard, b.shard))
	})
	var b strings.Builder
	rows, bytes := int64(0), int64(0)
	for _, f := range list {
		name := f.node
		if s.cfg.Name != nil {
			name = cmp.Or(s.cfg.Name(f.node), name)
		}
		of := req.Tables[f.table].Name
		fmt.Fprintf(&b, "\nnode %s: %s.%s, shard %d, %s, %s, %s", cmp.Or(name, "?"), of.Database, of.Name, f.shard,
			query.CountOf(f.rows, "row"), query.CountOf(f.bytes, "byte"), f.took.Round(100*time.Microsecond))
		rows, bytes = rows+f.rows, bytes+f.bytes
	}
	fmt.Fprintf(&b, "\nfetched: %s, %s", query.CountOf(rows, "row"), query.CountOf(bytes, "byte"))
	return b.String()
}

// ranFetched describes the rows that nodes have sent for a query within another one, in lines of EXPLAIN ANALYZE about
// that one. why is the reason why they were fetched.
func (s *server) ranFetched(req *shardpb.QueryRequest, why string, list []fetched) string {
	if len(list) == 0 {
		return ""
	}
	lines := cmp.Or(why, "rows of other nodes are fetched") + s.noteFetched(req, list)
	return "\n  " + strings.ReplaceAll(lines, "\n", "\n  ")
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
