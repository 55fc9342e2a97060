package segment

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"
)

// zstdCodec compresses pages at the lowest level, literals always entropy coded:
// without that the files are a quarter larger. Every frame has a checksum, which
// engines compare that ignore those of Parquet pages.
var zstdCodec compress.Codec = &codec{}

type codec struct {
	encoders, decoders sync.Pool
}

func (c *codec) String() string { return "ZSTD" }

func (c *codec) CompressionCodec() format.CompressionCodec { return format.Zstd }

func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	e, ok := c.encoders.Get().(*zstd.Encoder)
	if !ok {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithAllLitEntropyCompression(true),
			zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(true), zstd.WithWindowSize(pageBytes))
		if err != nil {
			return nil, fmt.Errorf("zstd encoder: %w", err)
		}
	}
	defer c.encoders.Put(e)
	return e.EncodeAll(src, dst[:0]), nil
}

func (c *codec) Decode(dst, src []byte) ([]byte, error) {
	d, ok := c.decoders.Get().(*zstd.Decoder)
	if !ok {
		var err error
		if d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)); err != nil {
			return nil, fmt.Errorf("zstd decoder: %w", err)
		}
	}
	defer c.decoders.Put(d)
	return d.DecodeAll(src, dst[:0])
}
