package cache

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"cordwood/shard/cold/bucket"
)

const (
	dirMode  = 0o750
	fileMode = 0o640
	// blockBytes is the unit in which file systems give space to files.
	blockBytes = 4096
	// magic is what an object begins with.
	magic = "PAR1"
	// pieceBytes is how much of a file is read at once for a checksum.
	pieceBytes = 256 << 10
)

// disk is the folder of the cache. It opens files for each operation, so it notices if they were removed.
type disk struct {
	dir string
	// fault, if not nil, is called before each operation. Its error is the operation's error. It is for tests.
	fault func(op, path string) error
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *disk) before(op, name string) error {
	if d.fault == nil {
		return nil
	}
	if err := d.fault(op, name); err != nil {
		return &fs.PathError{Op: op, Path: d.path(name), Err: err}
	}
	return nil
}

// begin writes the end of a sparse file of size bytes. It makes the file and the folder if they are missing. If anew is
// set, it drops what the file had.
func (d *disk) begin(name string, size int64, anew bool, b []byte, offset int64) error {
	if err := d.before("create", name); err != nil {
		return err
	}
	flags := os.O_CREATE | os.O_WRONLY
	if anew {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(d.path(name), flags, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(d.dir, dirMode); err == nil {
			f, err = os.OpenFile(d.path(name), flags, fileMode)
		}
	}
	if err != nil {
		return err
	}
	if err = f.Truncate(size); err == nil {
		_, err = f.WriteAt([]byte(magic), 0)
	}
	if err == nil {
		_, err = f.WriteAt(b, offset)
	}
	return errors.Join(err, f.Close())
}

// write writes a part of an existing file.
func (d *disk) write(name string, b []byte, offset int64) error {
	if err := d.before("write", name); err != nil {
		return err
	}
	f, err := os.OpenFile(d.path(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, offset)
	return errors.Join(err, f.Close())
}

// read reads a part of a file.
func (d *disk) read(name string, offset, length int64) ([]byte, error) {
	if err := d.before("read", name); err != nil {
		return nil, err
	}
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, length)
	if _, err := f.ReadAt(b, offset); err != nil {
		return nil, err
	}
	return b, nil
}

// readAll reads a whole file of at most limit bytes.
func (d *disk) readAll(name string, limit int64) ([]byte, error) {
	if err := d.before("read", name); err != nil {
		return nil, err
	}
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("read %s: it has more than %d bytes", d.path(name), limit)
	}
	return b, err
}

// part is a part of a file with a checksum.
type part struct {
	offset, length int64
	crc            uint32
}

// check calls wrong with the index of each part whose checksum differs, or which cannot be read. The error is of a file
// that cannot be read at all, or has another size.
func (d *disk) check(name string, size int64, parts []part, wrong func(i int)) error {
	if err := d.before("read", name); err != nil {
		return err
	}
	f, err := os.Open(d.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != size {
		return errors.Join(err, fmt.Errorf("%s: it does not have %d bytes", d.path(name), size))
	}
	buf := make([]byte, min(pieceBytes, longest(parts)))
	for i, p := range parts {
		h := crc32.New(bucket.Castagnoli)
		n, err := io.CopyBuffer(onlyWriter{h}, onlyReader{io.NewSectionReader(f, p.offset, p.length)}, buf)
		if err != nil || n != p.length || h.Sum32() != p.crc {
			wrong(i)
		}
	}
	return nil
}

func longest(parts []part) int64 {
	most := int64(1)
	for i := range parts {
		most = max(most, parts[i].length)
	}
	return most
}

// onlyReader and onlyWriter hide other methods, so that io.CopyBuffer uses its buffer.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)

// punch gives back the space of a part of a file. The file has a hole there afterwards.
func (d *disk) punch(name string, offset, length int64) error {
	if err := d.before("punch", name); err != nil {
		return err
	}
	f, err := os.OpenFile(d.path(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, length)
	if err != nil {
		err = &fs.PathError{Op: "punch a hole into", Path: d.path(name), Err: err}
	}
	return errors.Join(err, f.Close())
}

// publish writes a small file and replaces an old one. Nothing is synced, because what is read later is compared with
// checksums.
func (d *disk) publish(name string, b []byte) error {
	if err := d.before("publish", name); err != nil {
		return err
	}
	temp := d.path(name + tempSuffix)
	err := os.WriteFile(temp, b, fileMode)
	if err == nil {
		if err = d.before("rename", name); err == nil {
			err = os.Rename(temp, d.path(name))
		}
	}
	if err != nil {
		_ = os.Remove(temp) // the next start removes it
	}
	return err
}

// remove removes a file. It is not an error if there is none.
func (d *disk) remove(name string) error {
	if err := d.before("remove", name); err != nil {
		return err
	}
	if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
