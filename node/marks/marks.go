// Package marks keeps the marks of a data folder, by which older copies of it are recognised: a machine that was
// restored from a snapshot, a folder that was restored from a copy, or a copy that runs at the same time as the
// original one.
//
// A folder gets a new mark when it is opened, and every few minutes while it is used: a number that grows, and a
// random tag. The mark is on disk before any other node sees it. The metadata keep the newest mark of each node, and
// accept a new one only from a folder that has the previous one. A folder therefore also keeps all marks since the
// last one that is known to be registered: it may not have received the answers to later registrations.
//
// Life cycle: call Open, then Draw. Current returns the mark to register, and Registered records that it was
// registered. All methods are safe for concurrent use. FORMAT.md describes the file.
package marks

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"cordwood/proto/metapb"
	"cordwood/shard/vfs"
)

// FileName is the name of the file in a data folder.
const FileName = "MARKS"

// maxKept is the maximum number of marks that a folder keeps. A folder that is opened more often without a
// registration reuses its last mark.
const maxKept = 64

// Folder contains the marks of a data folder.
type Folder struct {
	path string

	mu   sync.Mutex // guards list
	list list
}

// list is the content of the file.
type list struct {
	// marks are the last mark that is known to be registered and all later ones, oldest first. A
	// folder of a version without marks has none.
	marks []*metapb.FolderMark
	// readmit is set when the operator readmits the folder although it is out of date.
	readmit bool
}

// Open reads the marks of a data folder.
func Open(dir string) (*Folder, error) {
	f := &Folder{path: filepath.Join(dir, FileName)}
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		f.list, err = decode(b)
	}
	if err != nil {
		return nil, fmt.Errorf("read the marks of the data folder %s: %w", f.path, err)
	}
	return f, nil
}

// Draw adds a new mark to the folder.
func (f *Folder) Draw() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.list.marks) >= maxKept {
		return nil
	}
	next := &metapb.FolderMark{Number: 1, Tag: rand.Uint64()}
	if n := len(f.list.marks); n > 0 {
		next.Number = f.list.marks[n-1].Number + 1
	}
	return f.save(list{append(slices.Clone(f.list.marks), next), f.list.readmit})
}

// Current returns the newest mark, and the earlier marks that the metadata may have instead, oldest first. Draw must
// have been called before.
func (f *Folder) Current() (mark *metapb.FolderMark, earlier []*metapb.FolderMark) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.list.marks)
	if n == 0 {
		return nil, nil
	}
	return f.list.marks[n-1], slices.Clone(f.list.marks[:n-1])
}

// Registered records that the metadata have a mark. It drops earlier marks.
func (f *Folder) Registered(mark *metapb.FolderMark) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(f.list.marks, func(m *metapb.FolderMark) bool { return m.Tag == mark.GetTag() })
	if at <= 0 {
		return nil
	}
	return f.save(list{slices.Clone(f.list.marks[at:]), f.list.readmit})
}

// Readmit reports whether the operator readmits the folder although it is older than the cluster's
// record of it.
func (f *Folder) Readmit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list.readmit
}

// SetReadmit sets the result of Readmit.
func (f *Folder) SetReadmit(want bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.list.readmit == want {
		return nil
	}
	return f.save(list{f.list.marks, want})
}

// save writes the list to disk. Only then does it replace the list in memory.
func (f *Folder) save(l list) error {
	if err := vfs.Publish(vfs.OS, f.path, l.encode()); err != nil {
		return fmt.Errorf("write the marks of the data folder %s: %w", f.path, err)
	}
	f.list = l
	return nil
}

// The keywords of the file.
const (
	head        = "cordwood marks 1\n"
	readmitLine = "readmit\n"
)

func (l list) encode() []byte {
	b := []byte(head)
	for _, m := range l.marks {
		b = fmt.Appendf(b, "mark %d %016x\n", m.Number, m.Tag)
	}
	if l.readmit {
		b = append(b, readmitLine...)
	}
	return fmt.Appendf(b, "crc32c %08x\n", sum(b))
}

func sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// errDamaged is the error for a file that cannot be decoded.
var errDamaged = errors.New("the file is damaged: delete it; the cluster then refuses the folder and reports what " +
	"to do")

// decode decodes a file that encode has written.
func decode(b []byte) (list, error) {
	rest, ok := bytes.CutPrefix(b, []byte(head))
	if !ok {
		if bytes.HasPrefix(b, []byte("cordwood marks ")) {
			return list{}, errors.New("a newer version of this program wrote the file: start that version")
		}
		return list{}, errDamaged
	}
	var l list
	for {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return list{}, errDamaged
		}
		fields := bytes.Split(line, []byte(" "))
		switch {
		case len(fields) == 3 && string(fields[0]) == "mark":
			number, err := strconv.ParseUint(string(fields[1]), 10, 64)
			tag, err2 := strconv.ParseUint(string(fields[2]), 16, 64)
			if err != nil || err2 != nil || len(l.marks) == maxKept {
				return list{}, errDamaged
			}
			l.marks = append(l.marks, &metapb.FolderMark{Number: number, Tag: tag})
		case string(line)+"\n" == readmitLine:
			l.readmit = true
		default:
			if !bytes.Equal(b, l.encode()) { // compares the checksum, and checks that nothing follows
				return list{}, errDamaged
			}
			return l, nil
		}
		rest = after
	}
}
