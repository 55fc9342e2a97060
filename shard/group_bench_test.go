package shard

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkGroup measures a confirmed read and an acknowledged write in a group of three, over
// loopback connections.
func BenchmarkGroup(b *testing.B) {
	for _, c := range []struct {
		name string
		do   func(o *opened, seq uint64) error
	}{
		{"read", func(o *opened, _ uint64) error { _, err := o.ReadBarrier(b.Context()); return err }},
		{"write", func(o *opened, seq uint64) error { _, err := o.put(batch(head(1, 9, seq), "row")); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := newGroup(b, nil, "a", "b", "c")
			l := g.leader()
			var took []time.Duration
			for seq := uint64(1); b.Loop(); seq++ {
				begun := time.Now()
				if err := c.do(l, seq); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
