package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// encodedTable returns the encoding of a table with a column.
func encodedTable(t *testing.T, id uint64, column string) []byte {
	t.Helper()
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(&schemapb.Table{
		Id: id, Version: 1, Columns: []*schemapb.Column{{Id: 1, Name: column}},
		Options: map[string]string{"append_mode": "true", "ttl": "1d", "comment": column},
	})
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestDefinitions checks that a definition is decoded once, and that each encoding has its own definition, even if ids
// and versions are the same.
func TestDefinitions(t *testing.T) {
	d := newDefinitions()
	decode := func(encoded []byte) *schemapb.Table {
		t.Helper()
		req := &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{Table: &schemapb.Table{Id: 7}}, {Definition: encoded}}}
		if err := d.decode(req); err != nil {
			t.Fatal(err)
		}
		if req.Tables[0].Table.Id != 7 || !bytes.Equal(req.Tables[1].Definition, encoded) {
			t.Errorf("the request became %.300v", req)
		}
		return req.Tables[1].Table
	}
	first := decode(encodedTable(t, 1, "a"))
	if again := decode(encodedTable(t, 1, "a")); again != first {
		t.Error("the same bytes were decoded twice")
	}
	if other := decode(encodedTable(t, 1, "b")); other == first || other.Columns[0].Name != "b" {
		t.Errorf("another definition became %v", other)
	}
	if first.Columns[0].Name != "a" || first.Options["ttl"] != "1d" {
		t.Errorf("the definition became %v", first)
	}
	for i := range 200 {
		decode(encodedTable(t, uint64(i), strings.Repeat("c", 10<<10)))
	}
	if weight := d.tables.Weight(); weight > maxDefinitions {
		t.Errorf("the definitions take %d bytes", weight)
	}
}

// TestDefinitionInvalid checks the error for bytes that are not a definition.
func TestDefinitionInvalid(t *testing.T) {
	req := &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{
		Name: &shardpb.TableName{Database: "public", Name: "logs"}, Definition: []byte("\xff"),
	}}}
	err := newDefinitions().decode(req)
	if errs.CodeOf(err) != errs.InvalidArguments ||
		!strings.Contains(fmt.Sprint(err), "query: decode the definition of table public.logs: ") {
		t.Errorf("the error is %v", err)
	}
}
