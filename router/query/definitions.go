package query

import (
	"sync"

	"cordwood/proto/errs"
	"cordwood/proto/lru"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

const (
	// maxDefinitions is the maximum memory for encoded definitions of tables, in bytes.
	maxDefinitions = 4 << 20
	// definitionBytes is an estimate of the memory for each byte of an encoded definition, with the table that it was
	// made from.
	definitionBytes = 8
)

// definitions are the definitions of tables for requests to nodes. A table is encoded once, because encoding it for
// each query takes 5 % of the time of the shortest queries. It is safe for concurrent use.
type definitions struct {
	version func() uint32 // of the cluster's protocol

	mu      sync.Mutex // guards encoded
	encoded *lru.Cache[*schema.Table, []byte]
}

// newDefinitions returns definitions for a cluster. If version is nil, it is 1.
func newDefinitions(version func() uint32) *definitions {
	if version == nil {
		version = func() uint32 { return metapb.MinProtocol }
	}
	return &definitions{version: version, encoded: lru.New[*schema.Table, []byte](maxDefinitions)}
}

// put adds the definition of a table to a request: encoded if all nodes understand that.
func (d *definitions) put(qt *shardpb.QueryTable, t *schema.Table) error {
	if d.version() < metapb.ProtocolDefinitions {
		qt.Table = t.ToProto()
		return nil
	}
	d.mu.Lock()
	encoded, ok := d.encoded.Get(t)
	d.mu.Unlock()
	if !ok {
		var err error
		if encoded, err = schema.EncodeDefinition(t.ToProto()); err != nil {
			return errs.Wrap(errs.Internal, err, "query: encode the definition of table %s.%s", t.Database, t.Name)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.encoded.Put(t, encoded, definitionBytes*int64(len(encoded)))
	}
	qt.Definition = encoded
	return nil
}
