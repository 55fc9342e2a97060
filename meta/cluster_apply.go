package meta

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/meta/placement"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// This file applies commands about the cluster as a whole.

// applyBootstrap creates the cluster: its id, its shards if their node is known, and the default
// database. A second bootstrap returns the id of the first.
func applyBootstrap(tx *catalog.Tx, b *metapb.Bootstrap, now int64, c *change) (*metapb.Result, error) {
	if id := tx.ClusterID(); id != "" {
		return &metapb.Result{ClusterId: id}, nil
	}
	if err := understood(b.ClusterVersion); err != nil {
		return nil, err
	}
	if err := tx.SetClusterID(b.ClusterId); err != nil {
		return nil, err
	}
	if b.ClusterVersion > 0 {
		if err := tx.SetClusterVersion(b.ClusterVersion); err != nil {
			return nil, err
		}
	}
	if b.Replication > 0 {
		c.Settings = &metapb.Settings{Replication: b.Replication}
		if b.NodeId == "" {
			c.Settings.InitialShards = b.Shards
		}
		if err := tx.SetSettings(c.Settings); err != nil {
			return nil, err
		}
	}
	if b.NodeId != "" {
		c.Shards = placement.Initial(b.Shards, b.NodeId)
	}
	for _, s := range c.Shards {
		if err := tx.Shards.Put(s); err != nil {
			return nil, err
		}
	}
	d := &schemapb.Database{Name: schema.DefaultDatabase, CreatedUnixNano: now}
	if err := tx.Databases.Create(d); err != nil {
		return nil, err
	}
	c.ClusterId, c.Databases, c.ClusterVersion = b.ClusterId, []*schemapb.Database{d}, tx.ClusterVersion()
	return &metapb.Result{ClusterId: b.ClusterId}, nil
}

// understood returns an error if the cluster starts to use a version that this program does not
// understand. The error halts the member, because other members would propose commands that it
// cannot apply.
func understood(version uint32) error {
	if version > metapb.MaxProtocol {
		return fmt.Errorf("the cluster uses protocol version %d, and this program understands %d to %d; start a "+
			"newer one", version, metapb.MinProtocol, metapb.MaxProtocol)
	}
	return nil
}

// applySetClusterVersion raises the version if every node understands the new one, including nodes
// that are down.
func applySetClusterVersion(tx *catalog.Tx, v *metapb.SetClusterVersion, c *change) (*metapb.Result, error) {
	had := tx.ClusterVersion()
	switch {
	case v.Version == had:
		return &metapb.Result{}, nil
	case v.Version < had:
		return nil, errs.New(errs.InvalidArguments,
			"The cluster uses protocol version %d, which cannot be lowered to %d", had, v.Version)
	}
	nodes, err := tx.Nodes.All()
	if err != nil {
		return nil, err
	}
	var older []string
	for _, n := range nodes {
		if knows(n) < v.Version {
			older = append(older, fmt.Sprintf("%s (%s)", n.Id, n.Name))
		}
	}
	if len(older) > 0 {
		const most = 5
		more := ""
		if n := len(older) - most; n > 0 {
			older, more = older[:most], fmt.Sprintf(" and %d more", n)
		}
		return nil, errs.New(errs.InvalidArguments, "The cluster cannot use protocol version %d: node %s%s "+
			"understands less; upgrade it, or remove it if it is gone", v.Version, strings.Join(older, ", "), more)
	}
	if err := understood(v.Version); err != nil {
		return nil, err
	}
	c.ClusterVersion = v.Version
	return &metapb.Result{}, tx.SetClusterVersion(v.Version)
}

func applySetSettings(tx *catalog.Tx, s *metapb.SetSettings, c *change) (*metapb.Result, error) {
	had, err := tx.Settings()
	if err != nil || proto.Equal(had, s.Settings) {
		return &metapb.Result{}, err
	}
	c.Settings = s.Settings
	return &metapb.Result{}, tx.SetSettings(s.Settings)
}

// applyRaiseCounters raises the counters so that no id is assigned twice.
func applyRaiseCounters(tx *catalog.Tx, r *metapb.RaiseCounters, c *change) (*metapb.Result, error) {
	if r.TableId > tx.Tables.LastID() {
		if err := tx.Tables.RaiseID(r.TableId); err != nil {
			return nil, err
		}
	}
	if !r.Recovered {
		return &metapb.Result{}, nil
	}
	nodes, err := tx.Nodes.All()
	if err != nil {
		return nil, err
	}
	for _, n := range nodes { // their marks may be newer than this state knows
		if n.Mark == nil {
			continue
		}
		n.Mark = nil
		if err := tx.Nodes.Put(n); err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	return &metapb.Result{}, tx.RaiseCounters()
}
