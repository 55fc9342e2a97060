package token

import (
	"strings"
	"testing"
	"time"
)

// TestBootstrap checks that only the token of a key and a cluster is accepted, and no part of it can be changed.
func TestBootstrap(t *testing.T) {
	old, key := []byte("an old secret of the cluster"), []byte("the secret of the cluster")
	expires := time.Unix(1_900_000_000, 0)
	text := Bootstrap(key, "c1", expires)
	if got, ok := CheckBootstrap([][]byte{old, key}, "c1", text); !ok || !got.Equal(expires) {
		t.Errorf("%v %v", got, ok)
	}
	if Bootstrap(key, "c1", expires) == text {
		t.Error("two tokens are the same")
	}
	for i := range len(text) {
		other := byte('A')
		if text[i] == other {
			other = 'B'
		}
		if _, ok := CheckBootstrap([][]byte{key}, "c1", text[:i]+string(other)+text[i+1:]); ok {
			t.Errorf("character %d can be changed", i)
		}
	}
	for _, c := range []struct {
		keys          [][]byte
		cluster, text string
	}{
		{[][]byte{old}, "c1", text},
		{[][]byte{key}, "c2", text},
		{nil, "c1", text},
		{[][]byte{key}, "c1", ""},
		{[][]byte{key}, "c1", "cwb_"},
		{[][]byte{key}, "c1", text + "A"},
		{[][]byte{key}, "c1", strings.TrimPrefix(text, "cwb_")},
	} {
		if _, ok := CheckBootstrap(c.keys, c.cluster, c.text); ok {
			t.Errorf("%q is accepted for %s", c.text, c.cluster)
		}
	}
}
