package discovery

import (
	"context"
	"slices"
	"testing"
)

// TestNameOfSeed checks that the certificate at an address that a DNS name gave must contain that name. The
// certificate at an address in the settings must contain the address, even if a name gave it, too.
func TestNameOfSeed(t *testing.T) {
	d := New(Config{
		Seeds: []string{"dns:nodes.example:4001", "10.0.0.9:4001"},
		Resolve: func(context.Context, string) ([]string, error) {
			return []string{"10.0.0.1", "10.0.0.2"}, nil
		},
	})
	addrs, faults := d.resolve(t.Context())
	if !slices.Equal(addrs, []string{"10.0.0.1:4001", "10.0.0.2:4001", "10.0.0.9:4001"}) || len(faults) > 0 {
		t.Fatal(addrs, faults)
	}
	for addr, want := range map[string]string{
		"10.0.0.1:4001": "nodes.example", "10.0.0.2:4001": "nodes.example", "10.0.0.9:4001": "",
	} {
		if got := d.nameOf(addr); got != want {
			t.Errorf("the certificate of %s is checked for %q, want %q", addr, got, want)
		}
	}
}
