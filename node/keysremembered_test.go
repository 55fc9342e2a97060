package node_test

import (
	"testing"

	"cordwood/node/coordinator"
	"cordwood/shard/rules"
)

// TestKeysRemembered: the coordinator takes a shard away once it has forgotten all keys of requests. It does not
// import the rules of shards, and so has their time as a constant of its own.
func TestKeysRemembered(t *testing.T) {
	if coordinator.KeysRemembered != rules.KeyTTL {
		t.Errorf("the coordinator waits for %s, and shards remember keys for %s", coordinator.KeysRemembered, rules.KeyTTL)
	}
}
