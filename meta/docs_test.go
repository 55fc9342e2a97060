package meta

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentedLimits checks that the page of limits and the glossary state the limits of the
// metadata.
func TestDocumentedLimits(t *testing.T) {
	for page, want := range map[string]string{
		"../docs/limits.md": fmt.Sprintf("| replicas of a shard; members of the metadata group that vote | %d; %d "+
			"(two more while members are replaced) |",
			maxWant, maxVoters-2),
		"../docs/concepts.md": fmt.Sprintf("a Raft group of 1, 3, 5 or %d *replicas*", maxWant),
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
}
