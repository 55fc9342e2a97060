package cli

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"cordwood/cmd/cordwood/client"
)

// TestRetryNotes checks that a reason is printed in full once a minute.
func TestRetryNotes(t *testing.T) {
	var got []string
	now := time.Unix(0, 0)
	n := retryNotes{note: func(text string) { got = append(got, text) }, now: func() time.Time { return now }}
	lost := &client.Error{Status: 503, Code: 5003, Msg: "shard 2 has no leader"}
	gone := errors.New("no server at http://a: start one with 'cordwood serve' or give --server: connection refused")
	n.tell(lost, time.Second)
	n.tell(gone, 0)
	now = now.Add(20 * time.Second)
	n.tell(gone, 0)
	n.tell(fmt.Errorf("wrapped: %w", lost), 2*time.Second)
	now = now.Add(time.Minute)
	n.tell(lost, 2*time.Second)
	want := []string{
		"shard 2 has no leader (server answered 503, code 5003); trying again in 1s",
		gone.Error() + "; trying the next server",
		"no server at http://a; trying the next server",
		"the same again: server answered 503, code 5003; trying again in 2s",
		"shard 2 has no leader (server answered 503, code 5003); trying again in 2s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range 10 * maxReasons {
		n.tell(fmt.Errorf("server %d: gone", i), 0)
	}
	if len(n.last) > maxReasons {
		t.Errorf("%d reasons are remembered", len(n.last))
	}
}
