package rules

import (
	"testing"

	"cordwood/proto/schemapb"
	"cordwood/shard/manifest"
	"cordwood/shard/shardtest"
)

const shardID = shardtest.Shard

func stateOf(t testing.TB, shardID uint32, m *manifest.State) *State {
	t.Helper()
	st, err := NewState(shardID, m)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func definitionOf(t testing.TB, p *schemapb.Table) *Definition {
	t.Helper()
	stored, err := manifest.EncodeTable(p)
	if err != nil {
		t.Fatal(err)
	}
	return NewDefinition(p, stored)
}
