package trail

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"cordwood/shard/vfs"
)

// A spool keeps rows in files until they are in the table (FORMAT.md). Only one goroutine uses it.

const (
	// maxFile is the size at which a file ends, and maxSpool the maximum size of all files, in bytes.
	maxFile  = 4 << 20
	maxSpool = 64 << 20
	// maxLine is the maximum size of a line: texts may become six times as long in JSON.
	maxLine = 128 << 10

	fileEnd   = ".audit"
	writtenAt = "written"
)

// errSpoolFull is the error for a row for which the files have no room.
var errSpoolFull = errors.New("the files with audit records have their maximum size")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// spoolFile is a file with rows.
type spoolFile struct {
	number uint64
	size   int64
	last   int64 // the id of its last row
}

type spool struct {
	fs  vfs.FS
	dir string
	max int64

	files []spoolFile
	// out is the last file if rows are appended to it; nil: the next row begins a file. dirty is set if it has to be
	// synced.
	out   vfs.File
	dirty bool
	total int64

	// The rows of the first file before offset are written. next has read it up to readTo.
	offset, readTo int64
	// last is the last row of all, of which only the id and the chain value are known.
	last, written mark
}

// mark is the id of a row, and its chain value.
type mark struct {
	ID    int64  `json:"id"`
	Chain string `json:"chain"`
}

// openSpool opens the files in a folder, which it creates. damaged is the number of lines that cannot be read.
func openSpool(fsys vfs.FS, dir string, most int64) (s *spool, damaged int, err error) {
	s = &spool{fs: fsys, dir: dir, max: most}
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, 0, err
	}
	text, err := vfs.ReadFile(fsys, filepath.Join(dir, writtenAt))
	if err == nil {
		_ = json.Unmarshal(text, &s.written) // without it, rows are written to the table again
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	s.last = s.written
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		number, err := strconv.ParseUint(strings.TrimSuffix(name, fileEnd), 10, 64)
		if !strings.HasSuffix(name, fileEnd) || err != nil {
			continue
		}
		f := spoolFile{number: number}
		rows, size, bad, err := s.readFile(number, 0, -1)
		if err != nil {
			return nil, 0, err
		}
		damaged += bad
		f.size = size
		for _, r := range rows {
			f.last = r.ID
			if r.ID > s.last.ID {
				s.last = mark{r.ID, r.Chain}
			}
		}
		s.files = append(s.files, f)
		s.total += size
	}
	return s, damaged, s.forget()
}

func (s *spool) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%012d%s", number, fileEnd))
}

// append adds a row. It is durable after sync.
func (s *spool) append(r *Row) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line := fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
	if s.total+int64(len(line)) > s.max {
		return errSpoolFull
	}
	if s.out != nil && s.files[len(s.files)-1].size >= maxFile {
		if err := s.end(); err != nil {
			return err
		}
	}
	if s.out == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	f := &s.files[len(s.files)-1]
	n, err := s.out.Write(line)
	f.size, s.total, s.dirty = f.size+int64(n), s.total+int64(n), true
	if err != nil {
		// The end of the file is unknown, so the next row begins another one.
		return errors.Join(err, s.end())
	}
	f.last, s.last = r.ID, mark{r.ID, r.Chain}
	return nil
}

// begin begins a file.
func (s *spool) begin() error {
	number := uint64(1)
	if n := len(s.files); n > 0 {
		number = s.files[n-1].number + 1
	}
	out, err := s.fs.Create(s.path(number))
	if err != nil {
		return err
	}
	s.out = out
	s.files = append(s.files, spoolFile{number: number})
	return s.fs.SyncDir(s.dir)
}

// end ends the last file.
func (s *spool) end() error {
	if s.out == nil {
		return nil
	}
	err := s.sync()
	if s.out == nil { // the sync has failed
		return err
	}
	err = errors.Join(err, s.out.Close())
	s.out = nil
	return err
}

// sync makes the rows durable. After an error, the next row begins another file.
func (s *spool) sync() error {
	if s.out == nil || !s.dirty {
		return nil
	}
	s.dirty = false
	err := s.out.Sync()
	if err != nil {
		err = errors.Join(err, s.out.Close())
		s.out = nil
	}
	return err
}

// next returns the oldest rows that are not yet marked as written.
func (s *spool) next() ([]Row, error) {
	for len(s.files) > 0 {
		rows, end, _, err := s.readFile(s.files[0].number, s.offset, batchRows)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case len(rows) > 0:
			s.readTo = end
			return rows, nil
		case len(s.files) == 1:
			return nil, nil
		}
		if err := s.dropFirst(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// done marks the rows that next returned as written.
func (s *spool) done(rows []Row) error {
	last := rows[len(rows)-1]
	s.written, s.offset = mark{last.ID, last.Chain}, s.readTo
	text, err := json.Marshal(s.written)
	if err != nil {
		return err
	}
	return errors.Join(vfs.Publish(s.fs, filepath.Join(s.dir, writtenAt), text), s.forget())
}

// forget removes files whose rows are all written, except the one to which rows are appended.
func (s *spool) forget() error {
	for len(s.files) > 0 && s.files[0].last <= s.written.ID && (len(s.files) > 1 || s.out == nil) {
		if err := s.dropFirst(); err != nil {
			return err
		}
	}
	return nil
}

func (s *spool) dropFirst() error {
	f := s.files[0]
	if err := s.fs.Remove(s.path(f.number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.files, s.total, s.offset = s.files[1:], s.total-f.size, 0
	return nil
}

// waiting returns the number of bytes of rows that are not marked as written.
func (s *spool) waiting() int64 {
	if s.last.ID <= s.written.ID || len(s.files) == 0 {
		return 0
	}
	return s.total - s.offset
}

// close makes the rows durable and closes the file.
func (s *spool) close() error { return s.end() }

// readFile reads the rows of a file that are not marked as written, from an offset on and at most limit, if it is not
// negative. end is where it stopped. A line that is incomplete or damaged is skipped and counted.
func (s *spool) readFile(number uint64, from int64, limit int) (rows []Row, end int64, damaged int, err error) {
	f, err := s.fs.Open(s.path(number))
	if err != nil {
		return nil, from, 0, err
	}
	defer f.Close()
	buf, size := []byte(nil), 0
	end = from
	for chunk := make([]byte, 64<<10); ; {
		n, err := f.ReadAt(chunk, end+int64(len(buf)))
		buf = append(buf, chunk[:n]...)
		for {
			at := bytes.IndexByte(buf, '\n')
			if at < 0 {
				break
			}
			line := buf[:at]
			end, buf = end+int64(at)+1, buf[at+1:]
			row, ok := parseLine(line)
			if !ok {
				damaged++
				continue
			}
			if limit >= 0 && row.ID <= s.written.ID {
				continue
			}
			rows, size = append(rows, row), size+sizeOf(&row)
			if limit >= 0 && (len(rows) >= limit || size >= batchBytes) {
				return rows, end, damaged, nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if len(buf) > 0 && limit < 0 {
				damaged++
				end += int64(len(buf))
			}
			return rows, end, damaged, nil
		case err != nil:
			return nil, end, damaged, err
		case len(buf) > maxLine:
			end, buf, damaged = end+int64(len(buf)), nil, damaged+1
		}
	}
}

// parseLine parses a line of a file.
func parseLine(line []byte) (r Row, ok bool) {
	sum, text, found := bytes.Cut(line, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !found || err != nil || uint32(want) != crc32.Checksum(text, castagnoli) {
		return r, false
	}
	return r, json.Unmarshal(text, &r) == nil
}
