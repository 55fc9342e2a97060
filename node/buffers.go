package node

import (
	"fmt"

	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// Set the sizes of gRPC's message buffers to powers of two. gRPC's default sizes jump from 32 KiB to 1 MiB, and it
// clears a buffer before each use, so a batch of 100 KiB would clear a whole MiB at each end.
func init() {
	sizes := []uint8{8, 10}
	for n := uint8(12); n <= 23; n++ {
		sizes = append(sizes, n)
	}
	pool, err := mem.NewBinaryTieredBufferPool(sizes...)
	if err != nil {
		panic(fmt.Sprintf("set the sizes of gRPC's buffers: %v", err))
	}
	experimental.SetDefaultBufferPool(pool) // the API allows SetDefaultBufferPool only in an init function
}
