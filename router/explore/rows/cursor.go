package rows

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"cordwood/proto/errs"
	"cordwood/router/explore/scope"
)

// cursorLife is the time for which a cursor is valid.
const cursorLife = time.Hour

// maxCursor limits the length of a cursor, in bytes.
const maxCursor = 1024

// cursor is a position between two rows, and the search to which it belongs. A forged cursor can only read rows that
// the search finds from another position, so it gives no additional rights.
type cursor struct {
	issued time.Time
	newest bool
	// of is a hash of the search.
	of  uint64
	rng scope.Range
	// last is the row before the position. If whole is set, all rows with its time are before the position too.
	last  place
	whole bool
}

const cursorVersion = 1

// String returns the cursor as text for clients.
func (c *cursor) String() string {
	flags := byte(0)
	for i, set := range []bool{c.newest, c.whole, !c.rng.From.IsZero()} {
		if set {
			flags |= 1 << i
		}
	}
	b := []byte{cursorVersion, flags}
	b = binary.AppendVarint(b, c.issued.Unix())
	b = binary.LittleEndian.AppendUint64(b, c.of)
	for _, t := range []time.Time{c.rng.From, c.rng.To, c.last.at} {
		b = binary.AppendVarint(b, t.Unix())
		b = binary.AppendUvarint(b, uint64(t.Nanosecond())) //nolint:gosec // 0 to 999,999,999
	}
	b = binary.LittleEndian.AppendUint64(b, c.last.hash)
	b = binary.AppendUvarint(b, uint64(c.last.number)) //nolint:gosec // it is a number of rows
	b = append(b, c.last.table...)
	b = binary.LittleEndian.AppendUint32(b, uint32(xxhash.Sum64(b))) //nolint:gosec // a part of the hash is enough
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads a cursor.
func parseCursor(text string) (*cursor, error) {
	c, err := decodeCursor(text)
	if err != nil {
		return nil, errs.New(errs.InvalidArguments, "the cursor is damaged or comes from another version: send the "+
			"request without it")
	}
	return c, nil
}

var errCursor = errors.New("rows: not a cursor")

func decodeCursor(text string) (*cursor, error) {
	if len(text) > maxCursor {
		return nil, errCursor
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 6 {
		return nil, errCursor
	}
	body := b[:len(b)-4]
	sum := uint32(xxhash.Sum64(body)) //nolint:gosec // as above
	if binary.LittleEndian.Uint32(b[len(b)-4:]) != sum || body[0] != cursorVersion {
		return nil, errCursor
	}
	r := reader{b: body[2:]}
	c := &cursor{newest: body[1]&1 != 0, whole: body[1]&2 != 0}
	c.issued = time.Unix(r.varint(), 0)
	c.of = r.fixed()
	from, to := r.time(), r.time()
	if body[1]&4 != 0 {
		c.rng.From = from
	}
	c.rng.To = to
	c.last.at = r.time()
	c.last.hash = r.fixed()
	c.last.number = int(r.uvarint()) //nolint:gosec // its range is checked
	c.last.table = string(r.b)
	if r.failed || body[1] > 7 || c.last.number < 0 || c.last.number > 1<<30 || strings.ContainsRune(c.last.table, 0) {
		return nil, errCursor
	}
	return c, nil
}

// reader parses a cursor.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) skip(n int) {
	if n <= 0 || n > len(r.b) {
		r.failed, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *reader) fixed() (v uint64) {
	if len(r.b) >= 8 {
		v = binary.LittleEndian.Uint64(r.b)
	}
	r.skip(8)
	return v
}

// time reads a time. SQL must be able to express it.
func (r *reader) time() time.Time {
	sec, nanos := r.varint(), r.uvarint()
	const first, last = -62_135_596_800, 9_300_000_000_000
	if sec < first || sec > last || nanos >= 1e9 {
		r.failed = true
		return time.Time{}
	}
	return time.Unix(sec, int64(nanos)).UTC() //nolint:gosec // its range is checked
}
