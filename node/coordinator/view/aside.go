package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/words"
	"cordwood/router/httpapi/clusterapi"
)

// adviceAside is the advice about rows that cannot be written to segments.
const adviceAside = "they are kept and queried; start a newer version, which tries again, or drop the table; " +
	"until then the shard cannot be backed up"

// listAside lists the rows that replicas cannot write to segments, by table, shard and node.
func listAside(snap *snapshot.Snapshot) []clusterapi.RowsAside {
	out := []clusterapi.RowsAside{}
	for _, s := range snap.Status.Shards {
		for _, id := range slices.Concat(s.Replicas, s.Learners) {
			for _, a := range snap.Replica(id, s).GetAside() {
				row := clusterapi.RowsAside{
					Table: fmt.Sprintf("table id %d", a.TableId), Shard: s.Id, Node: snap.Label(id), Rows: a.Rows, Bytes: a.Bytes,
					Reason: a.Reason, Advice: adviceAside,
				}
				if t := snap.Tables[a.TableId]; t != nil {
					row.Table = t.Database + "." + t.Name
				}
				if a.SinceUnixNano != 0 {
					at := time.Unix(0, a.SinceUnixNano).UTC()
					row.Since = &at
				}
				out = append(out, row)
			}
		}
	}
	slices.SortFunc(out, func(a, b clusterapi.RowsAside) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// rowsAside reports rows that cannot be written to segments, one line for each replica. listAside has the details.
func (d *diagnosis) rowsAside() {
	snap := d.snap
	for _, s := range snap.Status.Shards {
		for _, id := range slices.Concat(s.Replicas, s.Learners) {
			r := snap.Replica(id, s)
			if r.GetAsideTables() == 0 {
				continue
			}
			rows := int64(0)
			for _, a := range r.Aside {
				rows += a.Rows
			}
			more := ""
			if int(r.AsideTables) > len(r.Aside) {
				more = " and more"
			}
			d.add(warning, adviceAside, "shard %d: %s%s of %s cannot be written to segments on node %s",
				s.Id, words.Count(rows, "row"), more, words.Count(r.AsideTables, "table"), snap.Label(id))
		}
	}
}
