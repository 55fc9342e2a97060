package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/test/cluster"
)

// checkHeld checks the rows of each replica, because a query shows only the rows of leaders. Every node must have a
// replica of every shard at the same index, as checkReplicas ensures.
func checkHeld(t testing.TB, c *cluster.Cluster, l *Load) {
	t.Helper()
	for _, n := range c.Shards {
		if n.Running() {
			l.checkRead(t, "from the replicas of "+n.Name, func() (*Stored, error) { return l.readHeld(n, byName(t, c)) })
		}
	}
}

// readHeld reads all tables of the load from the replicas of one node, without making the node the leader. Leadership
// would not help, because the cluster moves it away again within a second.
func (l *Load) readHeld(n *cluster.Node, tables map[string]*schemapb.Table) (*Stored, error) {
	s := &Stored{tables: map[int]map[rowID]int{}}
	for i := range l.opt.Tables {
		table := tables[TableName(i)]
		if table == nil {
			if l.wrote(i) {
				return nil, fmt.Errorf("there is no table %s, although its rows were acknowledged", TableName(i))
			}
			continue
		}
		for _, shard := range schema.FromProto(table).Shards() {
			rows, err := scan(n, shard, table)
			if err != nil {
				return nil, fmt.Errorf("read table %s from the replica of shard %d on %s: %w", table.Name, shard, n.Name, err)
			}
			s.add(i, rows)
		}
	}
	return s, nil
}

// scan reads the rows that a node's replica of a shard has of a table of a load.
func scan(n *cluster.Node, shard uint32, table *schemapb.Table) (rows [][]any, err error) {
	err = calls(n, 30*time.Second, func(ctx context.Context, conn grpc.ClientConnInterface) error {
		in, err := shardpb.NewShardServiceClient(conn).Scan(ctx, &shardpb.ScanRequest{
			ShardId: shard, Table: table, Columns: []string{"w", "s", "p"}, Where: "p IS NOT NULL", AnyReplica: true,
		})
		if err != nil {
			return err
		}
		var data bytes.Buffer // read the whole answer first: Arrow's reader accepts a broken stream as complete
		for {
			m, err := in.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			data.Write(m.ArrowIpc)
		}
		r, err := ipc.NewReader(&data)
		if err != nil {
			return err
		}
		defer r.Release()
		for r.Next() {
			batch := r.RecordBatch()
			for i := range int(batch.NumRows()) {
				rows = append(rows, []any{
					batch.Column(0).ValueStr(i), json.Number(batch.Column(1).ValueStr(i)),
					batch.Column(2).ValueStr(i),
				})
			}
		}
		return r.Err()
	})
	return rows, err
}
