package server

import (
	"testing"
	"time"
)

// TestHowStale checks that the error of a read with consistency=any names a max_staleness that is longer than the age
// of the replica.
func TestHowStale(t *testing.T) {
	for _, tt := range []struct {
		age   time.Duration
		known bool
		want  string
	}{
		{30584 * time.Millisecond, true, "it is up to 30.6s behind; max_staleness=1m allows it"},
		{50 * time.Second, true, "it is up to 50s behind; max_staleness=2m allows it"},
		{40 * time.Minute, true, "it is up to 40m0s behind; max_staleness=1h1m allows it"},
		{20 * time.Hour, true, "it is up to 20h0m0s behind; max_staleness=24h allows it"},
		{25 * time.Hour, true, "it is up to 25h0m0s behind"},
		{0, false, "it is not known how far it is behind before it has heard more from a leader"},
	} {
		if got := howStale(tt.age, tt.known); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.age, got, tt.want)
		}
	}
}
