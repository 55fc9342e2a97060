package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/node/coordinator/view"
)

// TestObjectStorageIsReported checks that what nodes report about object storage is a problem of the cluster: one for
// nodes that report the same, and none for nodes that are down.
func TestObjectStorageIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c", "d")
		w.down["d"] = time.Now()
		time.Sleep(time.Minute)
		status := w.status()
		for i, text := range []string{"the bucket refuses access", "", "the bucket refuses access", "an object is missing"} {
			status.Nodes[i].Report.ObjectStorage = text
		}
		var got []string
		for _, p := range view.Diagnose(snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), status, nil, nil)) {
			if strings.Contains(p.Advice, "object-storage check") {
				got = append(got, fmt.Sprint(p.Severity, ": ", p.Text))
			}
		}
		want := []string{"warning: node-a, node-c: the bucket refuses access"}
		if !slices.Equal(got, want) {
			t.Errorf("the problems are %q, want %q", got, want)
		}
	})
}
