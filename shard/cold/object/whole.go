package object

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"

	"cordwood/proto/errs"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/segment"
)

// pieceBytes is about how many bytes Copy requests at once.
const pieceBytes = 8 << 20

// Copy reads an object from an offset to its end, past the cache, and passes its bytes to emit in their order. All of
// them were compared with their checksums, except for the first bytes of the file, which are always the same.
func Copy(ctx context.Context, b bucket.Bucket, o *cold.Object, offset int64, emit func([]byte) error) error {
	length := o.Meta.Bytes - o.TailOffset
	tail, err := b.Range(ctx, o.Key, bucket.Range{
		Offset: o.TailOffset, Length: length, ObjectSize: o.Meta.Bytes,
		Parts: []bucket.Part{{Offset: o.TailOffset, Length: length, CRC: o.TailCRC}},
	})
	if err != nil {
		return err
	}
	t, err := segment.ReadTail(o.Key, tail, o.TailOffset)
	if err != nil {
		return err
	}
	for _, r := range ranges(t.List, o.TailOffset) {
		end := r.Offset + r.Length
		if end <= offset {
			continue
		}
		r.ObjectSize = o.Meta.Bytes
		data, err := b.Range(ctx, o.Key, r)
		if err != nil {
			return err
		}
		if err := emit(data[max(offset-r.Offset, 0):]); err != nil {
			return err
		}
	}
	return emit(tail[min(max(offset-o.TailOffset, 0), length):])
}

// Verify checks that a bucket has an object with its size and checksum. If the service knows no checksum, the object is
// read, and pace is called with the bytes of each request. An error of kind bucket.NotFound or bucket.Damaged, or a
// segment.ErrCorrupt, means that rows are lost unless the object is restored; see Lost.
func Verify(ctx context.Context, b bucket.Bucket, o *cold.Object, pace func(bytes int64) error) error {
	info, err := bucket.Check(ctx, b, o.Key, o.Meta.Bytes, o.Meta.FileCRC)
	if err != nil || info.Checked {
		return err
	}
	crc := uint32(0)
	err = Copy(ctx, b, o, 0, func(data []byte) error {
		crc = crc32.Update(crc, bucket.Castagnoli, data)
		return pace(int64(len(data)))
	})
	if err == nil && crc != o.Meta.FileCRC {
		err = &bucket.Error{
			Kind: bucket.Damaged, Op: "check", At: b.Location() + "/" + o.Key,
			Err: fmt.Errorf("its checksum is %08x, want %08x", crc, o.Meta.FileCRC),
		}
	}
	return err
}

// ranges divides the bytes before the tail into ranges with the checksums of the units in them. The units are in the
// order of the file.
func ranges(units []segment.Unit, end int64) (out []bucket.Range) {
	next := bucket.Range{}
	add := func() {
		for next.Length > bucket.MaxRange { // it is compared as a whole by those who have the checksum of the file
			out = append(out, bucket.Range{Offset: next.Offset, Length: bucket.MaxRange})
			next = bucket.Range{Offset: next.Offset + bucket.MaxRange, Length: next.Length - bucket.MaxRange}
		}
		if next.Length > 0 {
			out = append(out, next)
		}
		next = bucket.Range{Offset: next.Offset + next.Length}
	}
	for i := range units {
		u := &units[i]
		if u.Offset >= end {
			break
		}
		if next.Length > 0 && u.Offset+u.Length-next.Offset > pieceBytes {
			add()
		}
		next.Length = u.Offset + u.Length - next.Offset
		if next.Length <= bucket.MaxRange {
			next.Parts = append(next.Parts, bucket.Part{Offset: u.Offset, Length: u.Length, CRC: u.CRC})
		}
	}
	add()
	if rest := end - next.Offset; rest > 0 {
		next.Length = rest
		add()
	}
	return out
}

// Copy is like the function Copy. Its errors are for clients. A nil Reader reads nothing.
func (r *Reader) Copy(ctx context.Context, o *cold.Object, offset int64, emit func([]byte) error) error {
	q := &Query{r: r}
	if r == nil {
		return q.failed(ctx, errNoStorage, []*cold.Object{o})
	}
	sent := error(nil)
	err := Copy(ctx, r.cfg.Bucket, o, offset, func(b []byte) error {
		sent = emit(b)
		return sent
	})
	if err == nil || sent != nil {
		return err
	}
	return q.failed(ctx, err, []*cold.Object{o})
}

// Lost reports whether an error of Reader.Copy or Verify means that the bucket does not have the object, or has other
// bytes.
func Lost(err error) bool {
	if e := (*errs.Error)(nil); errors.As(err, &e) && e.Err != nil {
		err = e.Err
	}
	kind, _ := bucket.KindOf(err)
	return kind == bucket.NotFound || kind == bucket.Damaged || errors.As(err, new(*segment.ErrCorrupt))
}
