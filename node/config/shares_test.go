package config

import "testing"

func TestShares(t *testing.T) {
	const gib = 1 << 30
	c := &Config{Shard: Shard{FlushBytes: 64 << 20}}
	if got, want := c.sharesOf(8*gib), (Shares{8 * gib, 2 * gib, gib, gib / 4, 4 * gib}); got != want {
		t.Errorf("nothing set: %+v, want %+v", got, want)
	}
	if got, want := c.sharesOf(gib), (Shares{gib, gib / 4, gib / 8, gib / 8, gib / 2}); got != want {
		t.Errorf("little memory: %+v, want %+v", got, want)
	}
	c.Query.Memory, c.HTTP.InflightLimit, c.Shard.Memory = 3, 4, 5
	if got, want := c.sharesOf(gib), (Shares{gib, 3, 4, 5, gib / 2}); got != want {
		t.Errorf("all set: %+v, want %+v", got, want)
	}
}
