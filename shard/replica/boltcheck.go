package replica

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
)

// The layout of bbolt's files, version 2.
const (
	boltMagic    = 0xED0CDAED
	boltVersion  = 2
	boltPageHead = 16
	boltElement  = 16
	boltBranch   = 1
	boltLeaf     = 2
	boltFreelist = 16
	boltMetaPage = 4
	boltMetaSum  = 56 // offset of the checksum in a meta page, behind the page's head
	boltBucket   = 1  // flag of an element
	boltMaxDepth = 64

	boltNoFreelist = 1<<64 - 1
	boltManyFree   = 0xFFFF // count of a list that has its length in front
)

// WalkBolt reads a bbolt file from its root to its leaves and checks that it is a
// sound tree. bbolt trusts its pages: a damaged one makes it panic, or end the
// process, some time later; and a damaged head makes it go back to the state before
// the last transaction without a word.
//
// It calls visit, if that is not nil, with every bucket, whose key is nil, and then
// with every pair in it in the order of the keys. Buckets within buckets have the
// names of both, with a slash between them. The slices are valid during the call.
//
// It reads the file without mapping it, and must not run beside a writer. A missing
// file satisfies errors.Is with fs.ErrNotExist; an empty one is sound.
func WalkBolt(path string, visit func(bucket string, key, value []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return nil // made by a process that ended before it wrote anything
	}
	w := &boltWalk{path: path, file: f, size: info.Size(), visit: visit, seen: map[uint64]bool{}}
	root, err := w.meta()
	if err != nil {
		return err
	}
	if err := w.page(root, "", nil, nil, 0); err != nil {
		return err
	}
	return w.freelist()
}

// checkBuckets is WalkBolt of a file that has certain buckets, and no others.
func checkBuckets(path string, names ...string) error {
	var have []string
	err := WalkBolt(path, func(bucket string, key, _ []byte) error {
		if key == nil {
			have = append(have, bucket)
		}
		return nil
	})
	slices.Sort(have)
	if err == nil && len(have) > 0 && !slices.Equal(have, names) {
		err = &ErrCorruptBolt{File: path, What: fmt.Sprintf("it has the buckets %q, want %q", have, names)}
	}
	return err
}

type boltWalk struct {
	path     string
	file     io.ReaderAt
	size     int64
	pageSize int64
	pages    uint64 // behind the highest page in use
	free     uint64 // page of the list of free ones, or boltNoFreelist
	visit    func(bucket string, key, value []byte) error
	seen     map[uint64]bool
}

func (w *boltWalk) bad(page uint64, format string, args ...any) error {
	return &ErrCorruptBolt{File: w.path, Page: page, What: fmt.Sprintf(format, args...)}
}

// ErrCorruptBolt is the error for a bbolt file that no transaction and no crash
// leaves. It comes as a *ErrCorruptBolt.
type ErrCorruptBolt struct {
	File string
	Page uint64
	// What is wrong there.
	What string
}

// Error names the file, the page and what to do.
func (e *ErrCorruptBolt) Error() string {
	return fmt.Sprintf("%s is damaged in page %d: %s; restore the directory from a replica or a backup", e.File, e.Page, e.What)
}

// meta checks both heads of the file and returns the root page of the newer one.
func (w *boltWalk) meta() (root uint64, err error) {
	head := make([]byte, 4096)
	if n, err := w.file.ReadAt(head, 0); n < len(head) {
		return 0, w.bad(0, "the file has %d bytes: %v", w.size, err)
	}
	le := binary.LittleEndian
	w.pageSize = int64(le.Uint32(head[boltPageHead+8:]))
	if w.pageSize < 512 || w.pageSize > 64<<10 || w.pageSize&(w.pageSize-1) != 0 {
		w.pageSize = int64(os.Getpagesize())
	}
	var txid uint64
	for n := range uint64(2) {
		page := make([]byte, boltPageHead+boltMetaSum+8)
		if _, err := w.file.ReadAt(page, int64(n)*w.pageSize); err != nil {
			return 0, w.bad(n, "the head cannot be read: %v", err)
		}
		m := page[boltPageHead:]
		h := fnv.New64a()
		_, _ = h.Write(m[:boltMetaSum]) // a hash takes everything
		version := le.Uint32(m[4:])
		switch {
		case le.Uint64(page) != n || le.Uint16(page[8:]) != boltMetaPage || le.Uint32(m) != boltMagic || int64(le.Uint32(m[8:])) != w.pageSize:
			return 0, w.bad(n, "this is not the head of a bbolt file")
		case h.Sum64() != le.Uint64(m[boltMetaSum:]):
			return 0, w.bad(n, "the checksum of the head is %016x, want %016x", le.Uint64(m[boltMetaSum:]), h.Sum64())
		case version != boltVersion:
			return 0, fmt.Errorf("%s: bbolt's format version is %d, this program reads %d: %w", w.path, version, boltVersion, ErrUnsupported)
		}
		if id := le.Uint64(m[48:]); n == 0 || id > txid {
			txid, root, w.free, w.pages = id, le.Uint64(m[16:]), le.Uint64(m[32:]), le.Uint64(m[40:])
		}
	}
	if need := int64(w.pages) * w.pageSize; need > w.size {
		return 0, w.bad(0, "%d pages are in use, and the file ends after %d", w.pages, w.size/w.pageSize)
	}
	return root, nil
}

// page checks a page and everything below it. Its keys lie between low, which is
// the first of them, and high; nil is no bound.
func (w *boltWalk) page(id uint64, bucket string, low, high []byte, depth int) error {
	switch {
	case id < 2 || id >= w.pages:
		return w.bad(id, "a page is referred to that is not in use")
	case w.seen[id]:
		return w.bad(id, "the page is referred to twice")
	case depth > boltMaxDepth:
		return w.bad(id, "the tree is deeper than any tree")
	}
	b, err := w.read(id)
	if err != nil {
		return err
	}
	return w.elements(id, b, bucket, low, high, depth)
}

// read returns a page with those that it runs over into, and notes that they are in use.
func (w *boltWalk) read(id uint64) ([]byte, error) {
	w.seen[id] = true
	head := make([]byte, boltPageHead)
	if _, err := w.file.ReadAt(head, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("%s: page %d: %w", w.path, id, err)
	}
	overflow := uint64(binary.LittleEndian.Uint32(head[12:]))
	if id+overflow >= w.pages {
		return nil, w.bad(id, "it is %d pages long, beyond the last one", overflow+1)
	}
	for i := uint64(1); i <= overflow; i++ {
		if w.seen[id+i] {
			return nil, w.bad(id, "it covers page %d, which is in use", id+i)
		}
		w.seen[id+i] = true
	}
	b := make([]byte, int64(overflow+1)*w.pageSize)
	if _, err := w.file.ReadAt(b, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("%s: page %d: %w", w.path, id, err)
	}
	if got := binary.LittleEndian.Uint64(b); got != id {
		return nil, w.bad(id, "it says that it is page %d", got)
	}
	return b, nil
}

// freelist checks that the pages that may be written next are those that nothing
// refers to. It is not kept in every file; bbolt then finds them itself.
func (w *boltWalk) freelist() error {
	if w.free == boltNoFreelist {
		return nil
	}
	if w.free < 2 || w.free >= w.pages || w.seen[w.free] {
		return w.bad(w.free, "this cannot be the list of free pages")
	}
	b, err := w.read(w.free)
	if err != nil {
		return err
	}
	if flags := binary.LittleEndian.Uint16(b[8:]); flags != boltFreelist {
		return w.bad(w.free, "it is not the list of free pages: flags %x", flags)
	}
	count := uint64(binary.LittleEndian.Uint16(b[10:]))
	list := b[boltPageHead:]
	if count == boltManyFree {
		count, list = binary.LittleEndian.Uint64(list), list[8:]
	}
	if count > uint64(len(list)/8) {
		return w.bad(w.free, "%d free pages do not fit", count)
	}
	for ; count > 0; count, list = count-1, list[8:] {
		id := binary.LittleEndian.Uint64(list)
		if id < 2 || id >= w.pages || w.seen[id] {
			return w.bad(w.free, "page %d is said to be free", id)
		}
		w.seen[id] = true
	}
	if in := uint64(len(w.seen)) + 2; in != w.pages {
		return w.bad(w.free, "%d pages are used or free, of %d", in, w.pages)
	}
	return nil
}

// elements checks what a page holds: of a leaf pairs and buckets, of a branch pages.
func (w *boltWalk) elements(id uint64, b []byte, bucket string, low, high []byte, depth int) error {
	le := binary.LittleEndian
	flags, count := le.Uint16(b[8:]), int(le.Uint16(b[10:]))
	if flags != boltBranch && flags != boltLeaf {
		return w.bad(id, "it is neither a branch nor a leaf: flags %x", flags)
	}
	if boltPageHead+count*boltElement > len(b) {
		return w.bad(id, "%d elements do not fit", count)
	}
	type element struct {
		flags      uint32
		key, value []byte
		page       uint64
	}
	var prev []byte
	next := boltPageHead + count*boltElement // elements' data lie one behind the other
	list := make([]element, count)
	for i := range list {
		at := boltPageHead + i*boltElement
		h := b[at : at+boltElement]
		e := &list[i]
		pos, ksize, vsize := le.Uint32(h), le.Uint32(h[4:]), uint32(0)
		if flags == boltLeaf {
			e.flags, pos, ksize, vsize = le.Uint32(h), le.Uint32(h[4:]), le.Uint32(h[8:]), le.Uint32(h[12:])
		} else {
			e.page = le.Uint64(h[8:])
		}
		from := at + int(pos)
		if from != next || int64(from)+int64(ksize)+int64(vsize) > int64(len(b)) || ksize == 0 {
			return w.bad(id, "element %d lies at %d with %d and %d bytes, want %d", i, from, ksize, vsize, next)
		}
		next = from + int(ksize) + int(vsize)
		e.key, e.value = b[from:from+int(ksize)], b[from+int(ksize):next]
		switch {
		case i > 0 && bytes.Compare(prev, e.key) >= 0:
			return w.bad(id, "key %d, %x, is not above the one before it", i, e.key)
		case low != nil && bytes.Compare(e.key, low) < 0, high != nil && bytes.Compare(e.key, high) >= 0:
			return w.bad(id, "key %d, %x, does not belong here", i, e.key)
		case e.flags > boltBucket:
			return w.bad(id, "element %d has flags %x", i, e.flags)
		}
		prev = e.key
	}
	for i, e := range list {
		var err error
		switch {
		case flags == boltBranch:
			end := high
			if i+1 < count {
				end = list[i+1].key
			}
			err = w.page(e.page, bucket, e.key, end, depth+1)
		case e.flags == boltBucket:
			err = w.bucket(id, e.key, e.value, bucket, depth)
		case w.visit != nil:
			err = w.visit(bucket, e.key, e.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a bucket: its pages, or the one within its element.
func (w *boltWalk) bucket(id uint64, key, value []byte, parent string, depth int) error {
	if len(value) < 16 {
		return w.bad(id, "bucket %q has a head of %d bytes", key, len(value))
	}
	name := string(key)
	if parent != "" {
		name = parent + "/" + name
	}
	if w.visit != nil {
		if err := w.visit(name, nil, nil); err != nil {
			return err
		}
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return w.page(root, name, nil, nil, depth+1)
	}
	if len(value) < 16+boltPageHead {
		return w.bad(id, "bucket %q has no page", key)
	}
	return w.elements(id, value[16:], name, nil, nil, depth+1)
}
