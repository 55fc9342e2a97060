package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ReadAll reads a whole object of at most some bytes.
func ReadAll(ctx context.Context, b Bucket, key string, most int64) ([]byte, error) {
	r, err := b.Open(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("read %s/%s: %w", b.Location(), key, err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s/%s has more than %d bytes", b.Location(), key, most)
	}
	return data, nil
}

// Check describes an object, and returns an error of kind Damaged if it has another size, or another checksum as far as
// the service knows it.
func Check(ctx context.Context, b Bucket, key string, size int64, crc uint32) (Info, error) {
	info, err := b.Head(ctx, key)
	if err != nil {
		return info, err
	}
	damaged := func(format string, args ...any) error {
		return &Error{Kind: Damaged, Op: "check", At: b.Location() + "/" + key, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case info.Size != size:
		return info, damaged("it has %d bytes, want %d", info.Size, size)
	case info.Checked && info.CRC != crc:
		return info, damaged("its checksum is %08x, want %08x", info.CRC, crc)
	}
	return info, nil
}
