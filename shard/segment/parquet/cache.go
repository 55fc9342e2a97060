package parquet

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/lru"
)

// Cache caches decompressed pages and decoded dictionaries that were read more than once recently,
// up to a number of bytes. The least recently used ones are removed first. All methods may be
// called concurrently. A nil Cache keeps nothing.
type Cache struct {
	limit int

	hits, misses, evictions atomic.Int64

	mu    sync.Mutex // guards the fields below
	pages *lru.Cache[pageKey, *loadedPage]
	// seen holds pages that were read once; a page that is read again is cached. So a scan evicts
	// nothing, and needs no memory.
	seen [seenPages]pageKey
}

const (
	// seenPages is the number of pages in seen, which is indexed by hash.
	seenPages = 8192
	// A page may take at most 1/pageShare of the limit.
	pageShare = 8
	// pageOverhead is the approximate memory of an entry in addition to the page's bytes.
	pageOverhead = 512
)

// pageKey identifies a page by the number of its file and its offset. The key of hashes and notes
// has the offset of the chunk.
type pageKey struct {
	file   uint64
	offset int64
	kind   keptKind
}

// keptKind is the kind of a cached item.
type keptKind uint8

const (
	keptPage keptKind = iota
	keptHashes
	keptNote
)

// loadedPage is a page as it was read. A page in a Cache is immutable.
type loadedPage struct {
	key    pageKey
	header format.PageHeader
	end    int64  // offset after the page
	body   []byte // decompressed, with padding bytes of capacity after its end; nil for a decoded dictionary
	dict   *Values
	hashes []uint32
	note   any
	noted  int // size of the note in bytes
}

func (p *loadedPage) size() int {
	n := pageOverhead + len(p.body) + 4*len(p.hashes) + p.noted
	if p.dict != nil {
		n += len(p.dict.Data) + 4*len(p.dict.Ends) + 8*len(p.dict.Numbers)
	}
	return n
}

// NewCache returns a cache of at most limit bytes. For 0 it returns nil, a cache that keeps
// nothing.
func NewCache(limit int) *Cache {
	if limit <= 0 {
		return nil
	}
	return &Cache{limit: limit, pages: lru.New[pageKey, *loadedPage](int64(limit))}
}

// files is the last assigned file number.
var files atomic.Uint64

// NewFile returns a number for a file whose pages are to be cached. A file that is opened again may
// get another number. Its old entries are then no longer found, and are evicted in time.
func NewFile() uint64 { return files.Add(1) }

// CacheStats holds the counters of a Cache, and its size in bytes.
type CacheStats struct{ Hits, Misses, Evictions, Bytes int64 }

// Stats returns the counters of c.
func (c *Cache) Stats() CacheStats {
	if c == nil {
		return CacheStats{}
	}
	c.mu.Lock()
	size := c.pages.Weight()
	c.mu.Unlock()
	return CacheStats{c.hits.Load(), c.misses.Load(), c.evictions.Load(), size}
}

// get returns a page. If the page is not cached, get returns nil, and keep reports whether it
// should be cached.
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

// Hashes returns the hashes that KeepHashes stored for the chunk at an offset of a file, or nil.
// They must not be changed.
func (c *Cache) Hashes(file uint64, chunk int64) []uint32 {
	if p, _ := c.get(pageKey{file: file, offset: chunk, kind: keptHashes}); p != nil {
		return p.hashes
	}
	return nil
}

// KeepHashes stores hashes of the values of a chunk, which belong to c from now on. With them a
// value is looked up without reading pages that do not contain it.
func (c *Cache) KeepHashes(file uint64, chunk int64, hashes []uint32) {
	if c != nil {
		c.put(&loadedPage{key: pageKey{file: file, offset: chunk, kind: keptHashes}, hashes: hashes})
	}
}

// Note returns the note that KeepNote stored for the chunk at an offset of a file. If there is none
// it returns nil, and whether a note should be stored. A note must not be changed.
func (c *Cache) Note(file uint64, chunk int64) (note any, keep bool) {
	p, keep := c.get(pageKey{file: file, offset: chunk, kind: keptNote})
	if p == nil {
		return nil, keep
	}
	return p.note, false
}

// KeepNote stores a note that was derived from the pages of a chunk, so that the pages are not
// needed for it again. size is its approximate size in bytes. From now on the note belongs to c.
func (c *Cache) KeepNote(file uint64, chunk int64, note any, size int) {
	if c != nil {
		c.put(&loadedPage{key: pageKey{file: file, offset: chunk, kind: keptNote}, note: note, noted: size})
	}
}
