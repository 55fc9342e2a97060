package discovery

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestShortReasons checks that gRPC's own words are removed from reasons.
func TestShortReasons(t *testing.T) {
	const before = `connection error: desc = "transport: Error while dialing: `
	for text, want := range map[string]string{
		"latest balancer error: " + before + `dial tcp: lookup a.invalid on [::1]:53: no such host"`: "dial tcp: " +
			"lookup a.invalid on [::1]:53: no such host",
		before + `dial tcp 127.0.0.1:1: connect: connection refused"`: "dial tcp 127.0.0.1:1: connect: connection refused",
		before + `an HTTP server answers there"`:                      "an HTTP server answers there",
		"context deadline exceeded":                                   "no answer",
	} {
		if got := short(status.Error(codes.Unavailable, text)).Error(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
