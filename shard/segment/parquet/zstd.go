package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/gozstd"
)

// checksumFlag is the bit of a zstd frame header that tells of a checksum behind the
// frame: the low half of the XXH64 of the content.
const checksumFlag = 4

// emptyFrame is a frame of no content, with its checksum.
const emptyFrame = "\x28\xb5\x2f\xfd\x24\x00\x01\x00\x00\x99\xe9\xd8\x51"

// compress appends src as a zstd frame with a checksum of its content, which engines
// compare that ignore those of Parquet pages.
func compress(dst, src []byte, level int) []byte {
	if len(src) == 0 {
		return append(dst, emptyFrame...)
	}
	at := len(dst)
	dst = gozstd.CompressLevel(dst, src, level)
	// The library would write the checksum itself, but the package has no way to ask
	// it to: it is put behind by hand.
	dst[at+4] |= checksumFlag
	return binary.LittleEndian.AppendUint32(dst, uint32(xxhash.Sum64(src)))
}

// decompress reads frames whose content has size bytes, and compares the checksum. It
// takes the memory of dst, if there is enough.
func decompress(dst, src []byte, size int) ([]byte, error) {
	if cap(dst) < size+padding {
		dst = make([]byte, 0, size+padding)
	}
	dst, err := gozstd.DecompressLimited(dst, src, size)
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	if len(dst) != size {
		return nil, fmt.Errorf("%d bytes after decompression: got %d", size, len(dst))
	}
	return padded(dst), nil
}

// padded is b with padding bytes of capacity behind it.
func padded(b []byte) []byte {
	if cap(b)-len(b) >= padding {
		return b
	}
	return append(make([]byte, 0, len(b)+padding), b...)
}
