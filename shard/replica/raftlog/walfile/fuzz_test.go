package walfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"cordwood/shard/replica/raftlog/damage"
)

// fileBytes is the length of the files that FuzzScan writes.
const fileBytes = 16 << 10

// FuzzScan reads arbitrary bytes as a segment file of the log. Accepted entries lie within the
// file, the remains of a crash after them can be cleared, and after another append all entries can
// be read. Every other file must cause an error for a damaged file.
func FuzzScan(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add(appended(header(), []byte("first"), []byte("second")), uint16(0))
	two := appended(appended(header(), []byte("first")), make([]byte, 600), []byte("third"))
	f.Add(two, uint16(0))
	f.Add(two[:len(two)-8], uint16(0)) // the commit is missing
	f.Add(two, uint16(40))             // a bit of an entry changed
	f.Fuzz(func(t *testing.T, data []byte, flip uint16) {
		if len(data) > fileBytes-1024 {
			return
		}
		b := make([]byte, fileBytes)
		copy(b, data)
		if flip > 0 {
			b[int(flip)%fileBytes] ^= 1 << (flip % 8)
		}
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%020d-%016x%s", 7, 3, fileSuffix))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		before, s, err := entries(path)
		if err != nil {
			if !errors.Is(err, damage.ErrDamaged) && !errors.Is(err, damage.ErrUnsupported) {
				t.Fatalf("the error does not match ErrDamaged: %v", err)
			}
			return
		}
		if s.end > s.dataEnd && s.dataEnd > 0 || s.dataEnd > s.size || s.entries != len(before) {
			t.Fatalf("%d entries up to %d of %d bytes, of a file of %d", s.entries, s.end, s.dataEnd, s.size)
		}
		if err := s.clearTorn(); err != nil {
			t.Fatal(err)
		}
		again, s, err := entries(path)
		if err != nil || s.tornBytes() != 0 || fmt.Sprint(again) != fmt.Sprint(before) {
			t.Fatalf("after clearing: %d entries of %d, %d bytes torn: %v", len(again), len(before), s.tornBytes(), err)
		}
		if s.sealed {
			return
		}
		if b, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		whole := b[:s.end]
		if s.end == 0 {
			whole = header()
		}
		next := appended(whole, []byte("one more"))
		if err := os.WriteFile(path, append(next, b[len(next):]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := entries(path); err != nil || len(got) != len(before)+1 {
			t.Fatalf("%d entries, one appended: %d are read: %v", len(before), len(got), err)
		}
	})
}

// entries reads a file and returns all its entries.
func entries(path string) (list []string, s *scan, err error) {
	s, err = scanFile(path, func(index uint64, offset int64, b []byte) error {
		list = append(list, fmt.Sprintf("%d at %d: %x", index, offset, b))
		return nil
	})
	return list, s, err
}

// header returns the start of file 3, whose first entry is 7.
func header() []byte {
	b := make([]byte, headerBytes)
	binary.LittleEndian.PutUint32(b, fileMagic)
	binary.LittleEndian.PutUint64(b[8:], 7)
	binary.LittleEndian.PutUint64(b[16:], 3)
	return b
}

// appended returns a file with one more append. The checksum of the first append includes the
// header.
func appended(file []byte, entries ...[]byte) []byte {
	b, start := append([]byte{}, file...), len(file)
	if start == headerBytes {
		start = 0
	}
	for _, e := range entries {
		b = append(b, entryFrame, 0, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(e)))
		b = append(b, e...)
		b = append(b, make([]byte, -len(b)&(frameHead-1))...)
	}
	sum := crc32.Checksum(b[start:], damage.Castagnoli)
	b = append(b, commitFrame, 0, 0, 0)
	return binary.LittleEndian.AppendUint32(b, sum)
}
