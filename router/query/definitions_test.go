package query

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// TestDefinitions checks that requests contain encoded definitions only if the whole cluster understands them, and that
// a table is encoded once.
func TestDefinitions(t *testing.T) {
	version := uint32(metapb.ProtocolDefinitions - 1)
	d := newDefinitions(func() uint32 { return version })
	options := map[string]string{"ttl": "1d", "append_mode": "true"}
	table := &schema.Table{ID: 7, Database: "public", Name: "logs", Version: 3, Options: options}
	var old shardpb.QueryTable
	if err := d.put(&old, table); err != nil || old.Definition != nil || !proto.Equal(old.Table, table.ToProto()) {
		t.Fatalf("an older cluster gets %v (%v)", &old, err)
	}
	version = metapb.ProtocolDefinitions
	var first, second, other shardpb.QueryTable
	changed := *table
	changed.Version++
	for qt, of := range map[*shardpb.QueryTable]*schema.Table{&first: table, &second: table, &other: &changed} {
		var got schemapb.Table
		err := d.put(qt, of)
		if err == nil {
			err = proto.Unmarshal(qt.Definition, &got)
		}
		if err != nil || qt.Table != nil || !proto.Equal(&got, of.ToProto()) {
			t.Fatalf("the definition became %v (%v)", &got, err)
		}
	}
	if &first.Definition[0] != &second.Definition[0] {
		t.Error("a table was encoded twice")
	}
	if slices.Equal(first.Definition, other.Definition) {
		t.Error("the changed table has the definition of the old one")
	}
}
