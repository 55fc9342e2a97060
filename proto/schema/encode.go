package schema

import (
	"google.golang.org/protobuf/proto"

	"cordwood/proto/schemapb"
)

// EncodeDefinition encodes the definition of a table. The same definition always has the same encoding, by which nodes
// recognize it.
func EncodeDefinition(t *schemapb.Table) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(t)
}
