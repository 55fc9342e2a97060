package worker

import (
	"slices"
	"testing"
)

// TestEnvironment: the process that runs the statements of users gets no credentials.
func TestEnvironment(t *testing.T) {
	got := environment([]string{
		"PATH=/bin", "AWS_SECRET_ACCESS_KEY=canary", "TMPDIR=/tmp", "MINIO_ROOT_PASSWORD=canary", "CORDWOOD_TOKEN=canary",
	})
	if want := []string{"PATH=/bin", "TMPDIR=/tmp"}; !slices.Equal(got, want) {
		t.Errorf("the query process gets %q, want %q", got, want)
	}
}
