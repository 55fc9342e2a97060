package ingest

import "testing"

// TestCharges checks that each database of a request has a charge of its own, and always the same one.
func TestCharges(t *testing.T) {
	var c charges
	found := map[string]*charge{}
	for range 2 {
		for _, database := range []string{"shop", "app", "public"} {
			got := c.of(database)
			if first := found[database]; first != nil && first != got {
				t.Errorf("another charge for %s", database)
			}
			found[database] = got
		}
	}
	if found["shop"] == found["app"] || found["app"] == found["public"] || found["shop"] == found["public"] {
		t.Error("two databases have the same charge")
	}
}
