package boltfile

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"

	"cordwood/shard/replica/raftlog/damage"
)

// The layout of bbolt's files, version 2. Sizes and offsets are in bytes.
const (
	headMagic    = 0xED0CDAED
	headVersion  = 2
	headSum      = 56 // offset of a header's checksum, after the page's own header
	pageHead     = 16
	elementHead  = 16
	bucketHead   = 16
	branchPage   = 1
	leafPage     = 2
	headPage     = 4
	freeListPage = 16
	bucketFlag   = 1 // of an element
	maxDepth     = 64

	noFreeList   = 1<<64 - 1
	longFreeList = 0xFFFF // the length of a list is then stored in its first number
)

// head is one of the two headers of a file. Transactions write them alternately.
type head struct{ txid, root, free, pages uint64 }

// heads checks both headers and returns the root page of the newer one.
func (w *walk) heads() (root uint64, err error) {
	b := make([]byte, 4096)
	if n, err := w.file.ReadAt(b, 0); n < len(b) {
		return 0, w.bad(0, "the file has %d bytes: %v", w.size, err)
	}
	w.pageSize = int64(binary.LittleEndian.Uint32(b[pageHead+8:]))
	if w.pageSize < 512 || w.pageSize > 64<<10 || w.pageSize&(w.pageSize-1) != 0 {
		w.pageSize = int64(os.Getpagesize()) // the second header may be intact
	}
	newest, err := w.head(0)
	if err != nil {
		return 0, err
	}
	second, err := w.head(1)
	if err != nil {
		return 0, err
	}
	if second.txid > newest.txid {
		newest = second
	}
	w.free, w.pages = newest.free, newest.pages
	if need := int64(w.pages) * w.pageSize; need > w.size {
		return 0, w.bad(0, "%d pages are in use, but the file has only %d", w.pages, w.size/w.pageSize)
	}
	return newest.root, nil
}

// head reads and checks the header in page n.
func (w *walk) head(n uint64) (head, error) {
	le := binary.LittleEndian
	page := make([]byte, pageHead+headSum+8)
	if _, err := w.file.ReadAt(page, int64(n)*w.pageSize); err != nil {
		return head{}, w.bad(n, "the header cannot be read: %v", err)
	}
	m := page[pageHead:]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:headSum]) // writing to a hash never fails
	version := le.Uint32(m[4:])
	switch {
	case le.Uint64(page) != n || le.Uint16(page[8:]) != headPage || le.Uint32(m) != headMagic ||
		int64(le.Uint32(m[8:])) != w.pageSize:
		return head{}, w.bad(n, "this is not the header of a bbolt file")
	case sum.Sum64() != le.Uint64(m[headSum:]):
		return head{}, w.bad(n, "the checksum of the header is %016x, want %016x", le.Uint64(m[headSum:]), sum.Sum64())
	case version != headVersion:
		return head{}, fmt.Errorf("%s: bbolt's format version is %d, this program reads %d: %w",
			w.path, version, headVersion, damage.ErrUnsupported)
	}
	return head{root: le.Uint64(m[16:]), free: le.Uint64(m[32:]), pages: le.Uint64(m[40:]), txid: le.Uint64(m[48:])}, nil
}

// freeList checks that the list of free pages contains exactly the pages without a reference. The
// list may be missing; bbolt then finds the free pages itself.
func (w *walk) freeList() error {
	if w.free == noFreeList {
		return nil
	}
	if w.free < 2 || w.free >= w.pages || w.used[w.free] {
		return w.bad(w.free, "this page cannot be the list of free pages")
	}
	b, err := w.read(w.free)
	if err != nil {
		return err
	}
	if flags := binary.LittleEndian.Uint16(b[8:]); flags != freeListPage {
		return w.bad(w.free, "it is not the list of free pages: flags %x", flags)
	}
	count := uint64(binary.LittleEndian.Uint16(b[10:]))
	list := b[pageHead:]
	if count == longFreeList {
		count, list = binary.LittleEndian.Uint64(list), list[8:]
	}
	if count > uint64(len(list)/8) {
		return w.bad(w.free, "%d free pages do not fit", count)
	}
	for ; count > 0; count, list = count-1, list[8:] {
		id := binary.LittleEndian.Uint64(list)
		if id < 2 || id >= w.pages || w.used[id] {
			return w.bad(w.free, "page %d is in the free list, but cannot be free", id)
		}
		w.used[id] = true
	}
	if known := uint64(len(w.used)) + 2; known != w.pages {
		return w.bad(w.free, "only %d of %d pages are used or free", known, w.pages)
	}
	return nil
}
