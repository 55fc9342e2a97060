package node_test

import (
	"testing"

	"cordwood/node/coordinator"
	"cordwood/shard/rules"
)

// TestKeysRemembered compares two constants. The coordinator removes a shard once the shard has forgotten all keys of
// requests. It does not import the rules of shards, so it has its own constant for that time.
func TestKeysRemembered(t *testing.T) {
	if coordinator.KeysRemembered != rules.KeyTTL {
		t.Errorf("the coordinator waits for %s, and shards remember keys for %s", coordinator.KeysRemembered, rules.KeyTTL)
	}
}
