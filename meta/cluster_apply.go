package meta

import (
	"cordwood/meta/catalog"
	"cordwood/meta/placement"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// After the log: the cluster, its nodes and sessions.

// applyBootstrap makes the cluster: its id, its shards, the default database. The
// second one is answered with the first one's id.
func applyBootstrap(tx *catalog.Tx, b *metapb.Bootstrap, now int64, c *change) (*metapb.Result, error) {
	if id := tx.ClusterID(); id != "" {
		return &metapb.Result{ClusterId: id}, nil
	}
	if err := tx.SetClusterID(b.ClusterId); err != nil {
		return nil, err
	}
	shards := placement.Initial(b.Shards, b.NodeId)
	for _, s := range shards {
		if err := tx.PutShard(s); err != nil {
			return nil, err
		}
	}
	d := &schemapb.Database{Name: schema.DefaultDatabase, CreatedUnixNano: now}
	if err := tx.CreateDatabase(d); err != nil {
		return nil, err
	}
	c.ClusterId, c.Shards, c.Databases = b.ClusterId, shards, []*schemapb.Database{d}
	return &metapb.Result{ClusterId: b.ClusterId}, nil
}

// applyRegisterNode stores what a node says of itself. The time of its first
// registration stays.
func applyRegisterNode(tx *catalog.Tx, r *metapb.RegisterNode, now int64, c *change) (*metapb.Result, error) {
	had, err := tx.Node(r.Node.Id)
	if err != nil {
		return nil, err
	}
	n := r.Node
	n.RegisteredUnixNano = now
	if had != nil {
		n.RegisteredUnixNano = had.RegisteredUnixNano
	}
	if err := tx.PutNode(n); err != nil {
		return nil, err
	}
	c.Nodes = []*metapb.Node{n}
	return &metapb.Result{ClusterId: tx.ClusterID()}, nil
}

// applyRegisterSession hands out the next session id.
func applyRegisterSession(tx *catalog.Tx) (*metapb.Result, error) {
	id, err := tx.NextSessionID()
	return &metapb.Result{SessionId: id, ClusterId: tx.ClusterID()}, err
}
