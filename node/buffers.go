package node

import (
	"fmt"

	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// The buffers of gRPC's messages come in sizes of powers of two. gRPC's own sizes go from
// 32 KiB to 1 MiB at once, and it clears a buffer before each use, so that a batch of
// 100 KiB would have a whole MiB cleared at either end.
func init() {
	sizes := []uint8{8, 10}
	for n := uint8(12); n <= 23; n++ {
		sizes = append(sizes, n)
	}
	pool, err := mem.NewBinaryTieredBufferPool(sizes...)
	if err != nil {
		panic(fmt.Sprintf("sizes of gRPC's buffers: %v", err))
	}
	experimental.SetDefaultBufferPool(pool) // may be called in an init only
}
