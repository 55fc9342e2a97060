package rules

import (
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/shard/manifest"
)

// TestKeysLast checks that KeysLast returns the time until the newest key is forgotten.
func TestKeysLast(t *testing.T) {
	t.Parallel()
	st := stateOf(t, shardID, &manifest.State{})
	const began = int64(1e18)
	st.Tick(began)
	if d := st.KeysLast(began); d != 0 {
		t.Errorf("without keys: %s", d)
	}
	st.Note(&column.Header{Session: column.KeyedBit | 3, Seq: 1})
	st.Tick(began + int64(time.Minute))
	st.Note(&column.Header{Session: column.KeyedBit | 4, Seq: 2})
	for _, c := range []struct {
		after, want time.Duration
	}{{time.Minute, KeyTTL}, {2 * time.Minute, KeyTTL - time.Minute}, {time.Minute + KeyTTL, 0}, {time.Hour, 0}} {
		if d := st.KeysLast(began + int64(c.after)); d != c.want {
			t.Errorf("%s after the start: %s, want %s", c.after, d, c.want)
		}
	}
}
