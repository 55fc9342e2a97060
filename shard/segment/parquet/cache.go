package parquet

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/lru"
)

// Cache keeps pages decompressed, and dictionaries decoded, of what was read more than
// once lately, up to a number of bytes; those used longest ago go first. All methods may
// be called concurrently; the methods of a nil Cache keep nothing.
type Cache struct {
	limit int

	hits, misses, evictions atomic.Int64

	mu    sync.Mutex // guards what follows
	pages *lru.Cache[pageKey, *loadedPage]
	// seen are pages that were read once: one that is read again is kept. So a scan
	// takes the place of nothing, and costs no memory.
	seen [seenPages]pageKey
}

const (
	// seenPages is how many pages are known to have been read, by hash.
	seenPages = 8192
	// pageShare is the part of the limit that one page may take.
	pageShare = 8
	// pageOverhead is about what a page takes besides its bytes.
	pageOverhead = 512
)

// pageKey names a page: a file by a number that no other one has, and an offset there. Of
// hashes and notes it is the offset of the chunk.
type pageKey struct {
	file   uint64
	offset int64
	kind   keptKind
}

// keptKind is what is kept.
type keptKind uint8

const (
	keptPage keptKind = iota
	keptHashes
	keptNote
)

// loadedPage is a page as it was read. If it is in a Cache nothing of it changes.
type loadedPage struct {
	key    pageKey
	header format.PageHeader
	end    int64  // offset of what comes behind it
	body   []byte // decompressed, with padding bytes of capacity behind it; nil for a dictionary that is decoded
	dict   *Values
	hashes []uint32
	note   any
	noted  int // bytes of the note
}

func (p *loadedPage) size() int {
	n := pageOverhead + len(p.body) + 4*len(p.hashes) + p.noted
	if p.dict != nil {
		n += len(p.dict.Data) + 4*len(p.dict.Ends) + 8*len(p.dict.Numbers)
	}
	return n
}

// NewCache returns a cache of at most limit bytes; for 0 nil, a cache that keeps nothing.
func NewCache(limit int) *Cache {
	if limit <= 0 {
		return nil
	}
	return &Cache{limit: limit, pages: lru.New[pageKey, *loadedPage](int64(limit))}
}

// files numbers files.
var files atomic.Uint64

// NewFile returns a number for a file whose pages are to be kept. A file that is opened again may
// have another number: then what was kept of it is not found, and is removed by age.
func NewFile() uint64 { return files.Add(1) }

// CacheStats says what a Cache did so far, and how many bytes it has.
type CacheStats struct{ Hits, Misses, Evictions, Bytes int64 }

// Stats returns what c did.
func (c *Cache) Stats() CacheStats {
	if c == nil {
		return CacheStats{}
	}
	c.mu.Lock()
	size := c.pages.Weight()
	c.mu.Unlock()
	return CacheStats{c.hits.Load(), c.misses.Load(), c.evictions.Load(), size}
}

// get returns a page, or nil; then keep means that it is worth being kept.
func (c *Cache) get(key pageKey) (p *loadedPage, keep bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.pages.Get(key); ok {
		c.hits.Add(1)
		return p, false
	}
	c.misses.Add(1)
	h := (key.file*0x9E3779B97F4A7C15 ^ (uint64(key.offset)<<2 | uint64(key.kind))) * 0xBF58476D1CE4E5B9
	slot := &c.seen[h>>32%seenPages]
	keep = *slot == key
	*slot = key
	return nil, keep
}

// put keeps a copy of a page, if it is not too large.
func (c *Cache) put(p *loadedPage) {
	size := p.size()
	if size > c.limit/pageShare {
		return
	}
	kept := *p
	if p.body != nil {
		kept.body = append(make([]byte, 0, len(p.body)+padding), p.body...)
	}
	if d := p.dict; d != nil {
		kept.dict = &Values{Numbers: slices.Clone(d.Numbers), Data: slices.Clone(d.Data), Ends: slices.Clone(d.Ends)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pages.Peek(p.key); !ok {
		c.evictions.Add(int64(c.pages.Put(p.key, &kept, int64(size))))
	}
}

// Hashes returns what KeepHashes kept of a chunk, whose offset it is, in a file; or nil.
// Nobody may change it.
func (c *Cache) Hashes(file uint64, chunk int64) []uint32 {
	if p, _ := c.get(pageKey{file: file, offset: chunk, kind: keptHashes}); p != nil {
		return p.hashes
	}
	return nil
}

// KeepHashes keeps hashes of the values of a chunk, which belong to c from now on: so a value is
// looked up without reading pages of other values.
func (c *Cache) KeepHashes(file uint64, chunk int64, hashes []uint32) {
	if c != nil {
		c.put(&loadedPage{key: pageKey{file: file, offset: chunk, kind: keptHashes}, hashes: hashes})
	}
}

// Note returns what KeepNote kept of a chunk, whose offset it is, in a file; or nil, and then
// whether it is worth being kept. Nobody may change it.
func (c *Cache) Note(file uint64, chunk int64) (note any, keep bool) {
	p, keep := c.get(pageKey{file: file, offset: chunk, kind: keptNote})
	if p == nil {
		return nil, keep
	}
	return p.note, false
}

// KeepNote keeps what was made of the pages of a chunk, of about so many bytes, so that they
// are not needed for it any more. The note is c's from now on.
func (c *Cache) KeepNote(file uint64, chunk int64, note any, size int) {
	if c != nil {
		c.put(&loadedPage{key: pageKey{file: file, offset: chunk, kind: keptNote}, note: note, noted: size})
	}
}
