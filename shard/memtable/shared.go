package memtable

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// sharedSize is the size of the file, which has pages only where chunks are in use. Chunks
	// beyond it are private memory of the process.
	sharedSize = 1 << 38
	// populateFrom is the size from which the pages of a chunk are allocated at once, if the chunk will be written
	// soon. This costs less than a page fault for each page.
	populateFrom = mediumChunk + 1
)

// sharedFile is a file in memory that is divided into the chunks of a Pool. Its zero value is ready
// to use; the file is created with the first chunk.
type sharedFile struct {
	mu sync.Mutex
	// opened means that creating the file has been tried. fd is -1 if that failed.
	opened bool
	fd     int
	// file owns fd and closes it when the pool is garbage collected.
	file *os.File
	// chunks holds the mapped chunks by address.
	chunks []chunk
	// holes holds the free ranges of the file below end, by offset. No two are adjacent.
	holes []extent
	end   int64
}

// chunk is a part of the file that is mapped at an address.
type chunk struct {
	addr   uintptr
	size   int
	offset int64
}

// extent is a range of the file.
type extent struct{ from, to int64 }

// Share returns a new descriptor of the file that contains the pool's memory, and the file's size.
// The descriptor can be read, and mapped for reading. The caller must close it. The file has pages
// only where memory is in use. If there is no such file, Share returns an error, and Locate finds
// nothing.
func (p *Pool) Share() (*os.File, int64, error) {
	s := &p.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
	if s.fd < 0 {
		return nil, 0, fmt.Errorf("memtable: this system does not support files in memory, so memory is not shared")
	}
	// The file is opened again, because the pool's own descriptor would allow writing.
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", s.fd), os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("memtable: share memory: %w", err)
	}
	return f, sharedSize, nil
}

// Locate returns the offset of mem in the file of Share. ok is false if mem is not in that file.
func (p *Pool) Locate(mem []byte) (offset int64, ok bool) {
	if len(mem) == 0 {
		return 0, false
	}
	s := &p.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	i, ok := slices.BinarySearchFunc(s.chunks, addr, byAddress)
	if !ok {
		i--
	}
	if i < 0 {
		return 0, false
	}
	c := s.chunks[i]
	if in := addr - c.addr; in+uintptr(len(mem)) <= uintptr(c.size) {
		return c.offset + int64(in), true
	}
	return 0, false
}

func byAddress(c chunk, addr uintptr) int {
	switch {
	case c.addr < addr:
		return -1
	case c.addr > addr:
		return 1
	}
	return 0
}

// open creates the file, once. s.mu must be held.
func (s *sharedFile) open() {
	if s.opened {
		return
	}
	s.opened, s.fd = true, -1
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil || limit.Cur < sharedSize {
		return
	}
	fd, err := unix.MemfdCreate("cordwood-memtable", unix.MFD_CLOEXEC)
	if err != nil {
		return
	}
	if err := unix.Ftruncate(fd, sharedSize); err != nil {
		_ = unix.Close(fd)
		return
	}
	s.fd, s.file = fd, os.NewFile(uintptr(fd), "memory of rows")
}

// mapChunk returns new memory of the given size, a multiple of mapUnit, whose first fill bytes will
// be written soon.
func (s *sharedFile) mapChunk(size, fill int) ([]byte, error) {
	s.mu.Lock()
	s.open()
	offset, ok := s.take(int64(size))
	s.mu.Unlock()
	if !ok {
		return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	}
	mem, err := unix.Mmap(s.fd, offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.give(extent{offset, offset + int64(size)})
		return nil, err
	}
	if size >= populateFrom {
		// A system that does not support this allocates the pages when they are touched.
		_ = unix.Madvise(mem[:min(size, (fill+mapUnit-1)/mapUnit*mapUnit)], unix.MADV_POPULATE_WRITE)
	}
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	i, _ := slices.BinarySearchFunc(s.chunks, addr, byAddress)
	s.chunks = slices.Insert(s.chunks, i, chunk{addr: addr, size: size, offset: offset})
	return mem, nil
}

// unmapChunk returns memory from mapChunk to the system.
func (s *sharedFile) unmapChunk(mem []byte) {
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	s.mu.Lock()
	i, inFile := slices.BinarySearchFunc(s.chunks, addr, byAddress)
	var c chunk
	if inFile {
		c = s.chunks[i]
		s.chunks = slices.Delete(s.chunks, i, i+1)
	}
	s.mu.Unlock()
	if err := unix.Munmap(mem); err != nil {
		panic("memtable: unmap of a chunk that this package mapped: " + err.Error())
	}
	if !inFile {
		return
	}
	if err := unix.Fallocate(s.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, c.offset,
		int64(c.size)); err != nil {
		panic("memtable: free a chunk of the file in memory: " + err.Error())
	}
	s.mu.Lock()
	s.give(extent{c.offset, c.offset + int64(c.size)})
	s.mu.Unlock()
}

// take reserves size bytes in the file, at the lowest possible offset. s.mu must be held.
func (s *sharedFile) take(size int64) (offset int64, ok bool) {
	if s.fd < 0 {
		return 0, false
	}
	for i := range s.holes {
		h := &s.holes[i]
		if h.to-h.from < size {
			continue
		}
		offset = h.from
		if h.from += size; h.from == h.to {
			s.holes = slices.Delete(s.holes, i, i+1)
		}
		return offset, true
	}
	if s.end+size > sharedSize {
		return 0, false
	}
	s.end += size
	return s.end - size, true
}

// give frees a range of the file. s.mu must be held.
func (s *sharedFile) give(e extent) {
	i, _ := slices.BinarySearchFunc(s.holes, e.from, func(h extent, from int64) int {
		if h.from < from {
			return -1
		}
		return 1
	})
	if i > 0 && s.holes[i-1].to == e.from {
		i--
		s.holes[i].to = e.to
	} else {
		s.holes = slices.Insert(s.holes, i, e)
	}
	if i+1 < len(s.holes) && s.holes[i].to == s.holes[i+1].from {
		s.holes[i].to = s.holes[i+1].to
		s.holes = slices.Delete(s.holes, i+1, i+2)
	}
	if i == len(s.holes)-1 && s.holes[i].to == s.end {
		s.end = s.holes[i].from
		s.holes = s.holes[:i]
	}
}
