// Package boltfile reads bbolt files without trusting them, and opens the logs that raft-boltdb
// keeps in such a file.
//
// bbolt maps its file and trusts its content: a damaged page makes it panic, or end the process, at
// some later time, and a damaged head makes it return to the state before the last transaction
// without an error. Walk therefore reads every page that is in use before the library opens the
// file. Only this package needs to know the private layout of bbolt, version 2.
package boltfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"

	"cordwood/shard/replica/raftlog/damage"
)

// ErrCorrupt is the error for a bbolt file that neither a transaction nor a crash can have left. It
// is returned as a *ErrCorrupt and matches damage.ErrDamaged.
type ErrCorrupt struct {
	File string
	Page uint64
	// What describes the damage.
	What string
}

// Error returns the file, the page, the damage, and what to do.
func (e *ErrCorrupt) Error() string {
	return fmt.Sprintf("%s is damaged in page %d: %s; restore the directory from a replica or a backup", e.File,
		e.Page, e.What)
}

// Is reports whether target is damage.ErrDamaged.
func (e *ErrCorrupt) Is(target error) bool { return target == damage.ErrDamaged }

// Walk reads a bbolt file from its root to its leaves and checks that it is a valid tree. It checks
// both heads, and the number, the kind, the bounds and the order of the keys of each page in use,
// and that each page has only one reference; then the list of free pages. If the file is damaged,
// it returns an *ErrCorrupt.
//
// It calls visit, if not nil, with every bucket, whose key is nil, and then with every pair in the
// bucket in the order of the keys. The name of a nested bucket consists of the names of both
// buckets, with a slash between them. The slices are valid during the call.
//
// It reads the file without mapping it, and must not run concurrently with a writer. The error for
// a missing file matches fs.ErrNotExist; an empty file is valid.
func Walk(path string, visit func(bucket string, key, value []byte) error) error {
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
		return nil // a process created the file and ended before it wrote anything
	}
	if visit == nil {
		visit = func(string, []byte, []byte) error { return nil }
	}
	w := &walk{path: path, file: f, size: info.Size(), visit: visit, used: map[uint64]bool{}}
	root, err := w.heads()
	if err != nil {
		return err
	}
	if err := w.page(root, place{}, 0); err != nil {
		return err
	}
	return w.freeList()
}

// WalkBuckets is like Walk, for a file that must have exactly the buckets names, in this
// order. A file without any bucket is valid.
func WalkBuckets(path string, names []string, visit func(bucket string, key, value []byte) error) error {
	var have []string
	err := Walk(path, func(bucket string, key, value []byte) error {
		if key == nil {
			have = append(have, bucket)
		}
		return visit(bucket, key, value)
	})
	slices.Sort(have)
	if err == nil && len(have) > 0 && !slices.Equal(have, names) {
		err = &ErrCorrupt{File: path, What: fmt.Sprintf("it has the buckets %q, want %q", have, names)}
	}
	return err
}

// walk is the state of one Walk.
type walk struct {
	path     string
	file     io.ReaderAt
	size     int64
	pageSize int64
	pages    uint64 // pages from this number on are not in use
	free     uint64 // page of the list of free pages, or noFreeList
	visit    func(bucket string, key, value []byte) error
	used     map[uint64]bool // pages that something refers to
}

// place is the position of a page in the tree: its bucket, and the bounds of its keys, from low up
// to but not including high. A nil bound means no limit.
type place struct {
	bucket    string
	low, high []byte
}

func (w *walk) bad(page uint64, format string, args ...any) error {
	return &ErrCorrupt{File: w.path, Page: page, What: fmt.Sprintf(format, args...)}
}

// page checks a page and everything below it.
func (w *walk) page(id uint64, at place, depth int) error {
	switch {
	case id < 2 || id >= w.pages:
		return w.bad(id, "a reference leads to a page that is not in use")
	case w.used[id]:
		return w.bad(id, "two references lead to the page")
	case depth > maxDepth:
		return w.bad(id, "the tree is deeper than a valid tree can be")
	}
	b, err := w.read(id)
	if err != nil {
		return err
	}
	return w.content(id, b, at, depth)
}

// read returns a page with its overflow pages, and marks them as used.
func (w *walk) read(id uint64) ([]byte, error) {
	w.used[id] = true
	head := make([]byte, pageHead)
	if _, err := w.file.ReadAt(head, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("%s: page %d: %w", w.path, id, err)
	}
	overflow := uint64(binary.LittleEndian.Uint32(head[12:]))
	if id+overflow >= w.pages {
		return nil, w.bad(id, "it is %d pages long, beyond the last one", overflow+1)
	}
	for next := id + 1; next <= id+overflow; next++ {
		if w.used[next] {
			return nil, w.bad(id, "it covers page %d, which is in use", next)
		}
		w.used[next] = true
	}
	b := make([]byte, int64(overflow+1)*w.pageSize)
	if _, err := w.file.ReadAt(b, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("%s: page %d: %w", w.path, id, err)
	}
	if got := binary.LittleEndian.Uint64(b); got != id {
		return nil, w.bad(id, "its header says that it is page %d", got)
	}
	return b, nil
}

// content checks the contents of a page: references to pages in a branch, or pairs and buckets in a
// leaf.
func (w *walk) content(id uint64, b []byte, at place, depth int) error {
	le := binary.LittleEndian
	kind, count := le.Uint16(b[8:]), int(le.Uint16(b[10:]))
	if kind != branchPage && kind != leafPage {
		return w.bad(id, "it is neither a branch nor a leaf: flags %x", kind)
	}
	if pageHead+count*elementHead > len(b) {
		return w.bad(id, "%d elements do not fit", count)
	}
	list, err := w.elements(id, b, kind, make([]element, count))
	if err != nil {
		return err
	}
	if err := w.checkKeys(id, list, at); err != nil {
		return err
	}
	for i, e := range list {
		switch {
		case kind == branchPage:
			below := place{bucket: at.bucket, low: e.key, high: at.high}
			if i+1 < count {
				below.high = list[i+1].key
			}
			err = w.page(e.page, below, depth+1)
		case e.flags == bucketFlag:
			err = w.bucket(id, e, at.bucket, depth)
		default:
			err = w.visit(at.bucket, e.key, e.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// element is one entry of a page: key and page in a branch; flags, key and value in a leaf.
type element struct {
	flags      uint32
	key, value []byte
	page       uint64
}

// elements reads the elements of a page into list. Their keys and values must follow each other
// without gaps, directly after the headers of all elements.
func (w *walk) elements(id uint64, b []byte, kind uint16, list []element) ([]element, error) {
	le := binary.LittleEndian
	next := pageHead + len(list)*elementHead
	for i := range list {
		at := pageHead + i*elementHead
		h, e := b[at:at+elementHead], &list[i]
		var pos, keySize, valueSize uint32
		if kind == leafPage {
			e.flags, pos, keySize, valueSize = le.Uint32(h), le.Uint32(h[4:]), le.Uint32(h[8:]), le.Uint32(h[12:])
		} else {
			pos, keySize, e.page = le.Uint32(h), le.Uint32(h[4:]), le.Uint64(h[8:])
		}
		from := at + int(pos)
		if from != next || int64(from)+int64(keySize)+int64(valueSize) > int64(len(b)) || keySize == 0 {
			return nil, w.bad(id, "element %d is at offset %d with a key of %d and a value of %d bytes; the expected offset "+
				"is %d", i, from, keySize, valueSize, next)
		}
		next = from + int(keySize) + int(valueSize)
		e.key, e.value = b[from:from+int(keySize)], b[from+int(keySize):next]
	}
	return list, nil
}

// checkKeys checks that the keys of a page are ascending and within the page's bounds, and that all
// flags are known.
func (w *walk) checkKeys(id uint64, list []element, at place) error {
	for i, e := range list {
		switch {
		case i > 0 && bytes.Compare(list[i-1].key, e.key) >= 0:
			return w.bad(id, "key %d, %x, is not greater than the previous key", i, e.key)
		case at.low != nil && bytes.Compare(e.key, at.low) < 0, at.high != nil && bytes.Compare(e.key, at.high) >= 0:
			return w.bad(id, "key %d, %x, is outside the bounds of the page", i, e.key)
		case e.flags > bucketFlag:
			return w.bad(id, "element %d has flags %x", i, e.flags)
		}
	}
	return nil
}

// bucket checks a bucket: its pages, or the page within its element if the bucket is small.
func (w *walk) bucket(id uint64, e element, parent string, depth int) error {
	if len(e.value) < bucketHead {
		return w.bad(id, "bucket %q has a header of %d bytes", e.key, len(e.value))
	}
	name := string(e.key)
	if parent != "" {
		name = parent + "/" + name
	}
	if err := w.visit(name, nil, nil); err != nil {
		return err
	}
	if root := binary.LittleEndian.Uint64(e.value); root != 0 {
		return w.page(root, place{bucket: name}, depth+1)
	}
	if len(e.value) < bucketHead+pageHead {
		return w.bad(id, "bucket %q has no page", e.key)
	}
	return w.content(id, e.value[bucketHead:], place{bucket: name}, depth+1)
}
