package install

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// This file handles the folder that receives the state of another replica; ../FORMAT.md lists its
// files. A segment's file is complete and synced if its name does not end in .tmp. The file STATE
// is written last: with it the state can be adopted without the other replica. AHEAD records that a
// state was adopted that is ahead of the log.

const (
	folderName    = "incoming"
	stateFileName = "STATE"
	aheadFileName = "AHEAD"

	stateMagic    = "CWST"
	aheadMagic    = "CWAH"
	stateVersion  = 1
	stateHeadSize = 16
)

// castagnoli is the CRC table of all checksums in this package.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// folder is the folder incoming of a shard.
type folder struct {
	fs    vfs.FS
	dir   string
	shard uint32
}

// fetchedName returns the name of a segment's file before the segment gets an id on this replica.
func fetchedName(m *segment.Meta) string {
	return fmt.Sprintf("%08x-%08x-%d.fetched", m.FileCRC, m.FooterCRC, m.Bytes)
}

func (in folder) path(name string) string { return filepath.Join(in.dir, name) }

// names lists the files in the folder; none if there is no folder.
func (in folder) names() ([]string, error) {
	names, err := in.fs.ReadDir(in.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// put writes a small file durably, and replaces an old one.
func (in folder) put(name, magic string, payload []byte) error {
	b := append(make([]byte, 0, stateHeadSize+len(payload)), magic...)
	b = binary.LittleEndian.AppendUint16(b, stateVersion)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, in.shard)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli))
	return vfs.Publish(in.fs, in.path(name), append(b, payload...))
}

// get returns the payload of a small file, or nil if there is none.
func (in folder) get(name, magic string) ([]byte, error) {
	path := in.path(name)
	b, err := vfs.ReadFile(in.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch {
	case len(b) < stateHeadSize || string(b[:4]) != magic:
		return nil, fmt.Errorf("%s is damaged: it has a wrong header; remove it, and its content will be fetched again",
			path)
	case binary.LittleEndian.Uint16(b[4:]) != stateVersion:
		return nil, fmt.Errorf("%s was written by a newer version of this program: its format version is %d, this one "+
			"knows %d; "+
			"run the version that wrote it or a newer one", path, binary.LittleEndian.Uint16(b[4:]), stateVersion)
	case binary.LittleEndian.Uint32(b[8:]) != in.shard:
		return nil, fmt.Errorf("%s belongs to shard %d, not to shard %d: the directory is misplaced", path,
			binary.LittleEndian.Uint32(b[8:]), in.shard)
	case crc32.Checksum(b[stateHeadSize:], castagnoli) != binary.LittleEndian.Uint32(b[12:]):
		return nil, fmt.Errorf("%s is damaged: it does not match its checksum; remove it, and its content will be fetched "+
			"again",
			path)
	}
	return b[stateHeadSize:], nil
}

// state returns the complete state in the folder, or nil if there is none.
func (in folder) state() (*manifest.State, error) {
	b, err := in.get(stateFileName, stateMagic)
	if b == nil || err != nil {
		return nil, err
	}
	return manifest.DecodeState(in.path(stateFileName), b)
}

// ahead returns the index up to which the manifest may be ahead of the log.
func (in folder) ahead() (uint64, error) {
	b, err := in.get(aheadFileName, aheadMagic)
	if b == nil || err != nil {
		return 0, err
	}
	if len(b) != 8 {
		return 0, fmt.Errorf("%s has %d bytes after its header, want 8", in.path(aheadFileName), len(b))
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (in folder) setAhead(index uint64) error {
	if err := in.fs.MkdirAll(in.dir); err != nil {
		return err
	}
	return in.put(aheadFileName, aheadMagic, binary.LittleEndian.AppendUint64(nil, index))
}

// clear removes the fetched files. It removes STATE first, because the other files have no meaning
// without it.
func (in folder) clear() error {
	names, err := in.names()
	if err != nil {
		return err
	}
	some := false
	for _, first := range []bool{true, false} {
		for _, name := range names {
			if name == aheadFileName || first != (name == stateFileName) {
				continue
			}
			some = true
			if err := in.fs.Remove(in.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if first && some {
			if err := in.fs.SyncDir(in.dir); err != nil {
				return err
			}
		}
	}
	if !some {
		return nil
	}
	return in.fs.SyncDir(in.dir)
}

// restoreNames renames the files of a complete state back to the names that they had during the fetch, because a
// newer state will replace it, and may use some of the same files.
func (in folder) restoreNames(st *manifest.State) error {
	if err := in.fs.Remove(in.path(stateFileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := in.fs.SyncDir(in.dir); err != nil {
		return err
	}
	for i := range st.Segments {
		m := &st.Segments[i]
		err := in.fs.Rename(in.path(m.FileName()), in.path(fetchedName(m)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return in.fs.SyncDir(in.dir)
}

// partName returns the name of a file's part from an earlier attempt while it is copied to a new
// file.
func partName(path string) string { return path + ".part" }

// resume creates the file that receives a segment, and copies to it the bytes that an earlier
// attempt received. Those were not synced, but the file is checked when it is complete. at is the
// length of the copied part, at most size, and crc its checksum.
func (in folder) resume(path string, size int64) (f vfs.File, at int64, crc uint32, err error) {
	temp, part := segment.TempName(path), partName(path)
	have, err := in.fs.Stat(temp)
	if err == nil {
		// If an attempt ended while it copied, its file has less than the file of the previous
		// attempt.
		if old, oerr := in.fs.Stat(part); oerr != nil || old < have {
			err = in.fs.Rename(temp, part)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, 0, err
	}
	if f, err = in.fs.Create(temp); err != nil {
		return nil, 0, 0, err
	}
	if have, err = in.fs.Stat(part); errors.Is(err, fs.ErrNotExist) {
		return f, 0, 0, nil
	}
	if err == nil && have <= size {
		at, crc, err = in.copyPart(f, part)
	}
	if err = errors.Join(err, in.fs.Remove(part)); err != nil {
		return nil, 0, 0, errors.Join(err, f.Close())
	}
	return f, at, crc, nil
}

// copyPart copies a file, and returns its length and checksum.
func (in folder) copyPart(to vfs.File, name string) (at int64, crc uint32, err error) {
	from, err := in.fs.Open(name)
	if err != nil {
		return 0, 0, err
	}
	buf := make([]byte, 1<<20)
	for err == nil {
		var n int
		n, err = from.ReadAt(buf, at)
		if _, werr := to.Write(buf[:n]); werr != nil {
			err = werr
			break
		}
		at += int64(n)
		crc = crc32.Update(crc, castagnoli, buf[:n])
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return at, crc, errors.Join(err, from.Close())
}

// keep removes all files but the named ones and their unfinished parts.
func (in folder) keep(wanted map[string]bool) error {
	names, err := in.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		whole := strings.TrimSuffix(strings.TrimSuffix(name, segment.TempName("")), partName(""))
		if wanted[whole] || name == aheadFileName {
			continue
		}
		if err := in.fs.Remove(in.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// hasFiles reports whether clear would remove anything.
func (in folder) hasFiles() bool {
	names, err := in.names()
	if err != nil {
		return false
	}
	for _, name := range names {
		if name != aheadFileName && !strings.HasPrefix(name, aheadFileName) {
			return true
		}
	}
	return false
}
