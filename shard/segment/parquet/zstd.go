package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/gozstd"
)

// checksumFlag is the bit of a zstd frame header that announces a checksum after the frame: the low
// half of the XXH64 of the content.
const checksumFlag = 4

// emptyFrame is a frame without content, with its checksum.
const emptyFrame = "\x28\xb5\x2f\xfd\x24\x00\x01\x00\x00\x99\xe9\xd8\x51"

// compress appends src as a zstd frame with a checksum of its content. Engines that ignore the
// checksums of Parquet pages check this one.
func compress(dst, src []byte, level int) []byte {
	if len(src) == 0 {
		return append(dst, emptyFrame...)
	}
	at := len(dst)
	dst = gozstd.CompressLevel(dst, src, level)
	// Package gozstd has no option for the checksum, so it is appended here.
	dst[at+4] |= checksumFlag
	return binary.LittleEndian.AppendUint32(dst, uint32(xxhash.Sum64(src)))
}

// decompress reads frames whose content has size bytes, and compares the checksum. It uses the
// memory of dst if that is sufficient. It allocates memory for a size only if the frame confirms
// the size. Frames in segments of the first format do not contain their size, which is limited
// instead.
func decompress(dst, src []byte, size int) ([]byte, error) {
	switch n, ok := contentSize(src); {
	case ok && n != uint64(size):
		return nil, fmt.Errorf("a frame of %d bytes after decompression: it has %d", size, n)
	case !ok && size > maxUnsized:
		return nil, fmt.Errorf("a frame of %d bytes after decompression: a frame without a size may have %d",
			size, maxUnsized)
	}
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

// maxUnsized is the maximum size of a page of the first format after decompression, in bytes. Such
// a page ended with a whole value, and no value was larger than a request body.
const maxUnsized = 256 << 20

// padded returns b with padding bytes of capacity after its end.
func padded(b []byte) []byte {
	if cap(b)-len(b) >= padding {
		return b
	}
	return append(make([]byte, 0, len(b)+padding), b...)
}

// contentSize returns the size of a frame's content, which writers of segments put into its header;
// see RFC 8878, 3.1.1.
func contentSize(frame []byte) (size uint64, ok bool) {
	if len(frame) < 5 || binary.LittleEndian.Uint32(frame) != 0xFD2FB528 {
		return 0, false
	}
	head := frame[4]
	at := 6 // after the window descriptor
	single := head&0x20 != 0
	if single {
		at = 5
	}
	at += []int{0, 1, 2, 4}[head&3] // the id of a dictionary
	n := []int{0, 2, 4, 8}[head>>6]
	if n == 0 && single {
		n = 1
	}
	if n == 0 || len(frame) < at+n {
		return 0, false
	}
	for i := range n {
		size |= uint64(frame[at+i]) << (8 * i)
	}
	if n == 2 {
		size += 256
	}
	return size, true
}
