package segment

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go/bloom"

	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
)

// KeyFulltext is the key of the token filters in the key-value metadata. It is part
// of the format.
const KeyFulltext = "cordwood.fulltext"

const (
	// maxFilterBytes is the maximum size of the filter of a column in a row group. It is limited
	// because filters are in the footer, which every query reads. With more tokens a filter has
	// more false positives.
	maxFilterBytes = 128 << 10
	// maxFilterBlocks is maxFilterBytes in blocks, a power of two.
	maxFilterBlocks = maxFilterBytes / bloom.BlockSize
	// maxTokens is the maximum number of different tokens that are collected. A set of this size
	// fits into the caches of a processor. With more tokens, the largest filter is filled and then
	// folded to the required size.
	maxTokens = 8192
	// smallFilterBytes is the size up to which a filter is built for smallFilterRate, even if the index specifies a
	// higher rate. A search checks hundreds of row groups. At a rate of 0.01, some of them would be read for nearly
	// every absent word.
	smallFilterBytes = 32 << 10
	smallFilterRate  = "0.0001"
)

var smallFilterBits = filterBits(map[string]string{schema.IndexOptionFalsePositiveRate: smallFilterRate})

// tokenHash returns the hash of a token. It is the hash of Parquet's own bloom filters.
var tokenHash bloom.XXH64

// fulltext collects the token filters of a column with a fulltext index, row group by
// row group.
type fulltext struct {
	analyzer analyzer
	bits     uint // bits per token
	groups   [][]byte

	tokens hashSet                // hashes of the tokens in the current row group
	filter bloom.SplitBlockFilter // takes the hashes if there are more than maxTokens
	buf    []byte
	known  knownWords // words of the current row group
}

// newFulltext creates the collector of a column. It returns nil for a column without a fulltext
// index.
func newFulltext(c *schema.Column) *fulltext {
	if c.Index == nil || c.Index.Kind != schema.FulltextIndex || !c.Type.IsBytes() || c.Type == schema.Binary {
		return nil
	}
	o := c.Index.Options
	caseSensitive, err := strconv.ParseBool(o[schema.IndexOptionCaseSensitive])
	return &fulltext{
		analyzer: analyzer{chinese: o[schema.IndexOptionAnalyzer] == "Chinese", caseSensitive: err == nil && caseSensitive},
		bits:     max(filterBits(o), 1),
	}
}

// group adds the filter of a row group.
func (t *fulltext) group(v *parquet.Values) {
	from := 0
	for _, end := range v.Ends {
		t.text(v.Data, from, int(end))
		from = int(end)
	}
	if cap(t.buf) > maxTokenBuffer {
		t.buf = nil
	}
	t.end()
}

// maxTokenBuffer is the maximum size of a token buffer that is kept for the next row group, because
// a text without a space is one token.
const maxTokenBuffer = 64 << 10

// token adds a token. Tokens are collected so that their number determines the size of the filter.
// If there are too many, they go into a filter of the maximum size at once.
func (t *fulltext) token(token []byte) {
	h := tokenHash.Sum64(token)
	if t.tokens.met(h) {
		return
	}
	if t.filter != nil {
		t.filter.Insert(h)
		return
	}
	t.tokens.add(h)
	if t.tokens.n == maxTokens {
		t.filter = make(bloom.SplitBlockFilter, maxFilterBlocks)
		t.insert()
	}
}

func (t *fulltext) insert() {
	t.tokens.each(t.filter.Insert)
	t.tokens.clear()
}

// end completes the filter of a row group.
func (t *fulltext) end() {
	if t.filter == nil {
		t.filter = make(bloom.SplitBlockFilter, min(t.blocks(t.tokens.n), maxFilterBlocks))
		t.insert()
	} else {
		t.filter = folded(t.filter, t.blocks(filterTokens(t.filter)))
	}
	t.groups = append(t.groups, t.filter.Bytes())
	t.filter = nil
	clear(t.tokens.recent[:])
	clear(t.known[:])
}

// blocks returns the number of blocks of a filter for the given number of tokens.
func (t *fulltext) blocks(tokens int) int {
	blocks := bloom.NumSplitBlocksOf(int64(tokens), t.bits)
	better := bloom.NumSplitBlocksOf(int64(tokens), max(t.bits, smallFilterBits))
	return max(blocks, min(better, smallFilterBytes/bloom.BlockSize), 1)
}

// filterTokens estimates the number of tokens in a filter. A token sets one bit in each word of its
// block.
func filterTokens(f bloom.SplitBlockFilter) int {
	set := 0
	for i := range f {
		for _, word := range f[i] {
			set += bits.OnesCount32(uint32(word))
		}
	}
	all := len(f) * bloom.BlockSize * 8
	if set == all {
		return math.MaxInt32
	}
	return int(float64(len(f)) * math.Log1p(-float64(set)/float64(all)) / math.Log1p(-1.0/32))
}

// folded returns the filter that the tokens of f would have made with fewer blocks. It halves the number of blocks
// as long as at least the given number remains. A token's block is the number of blocks times a part of its hash,
// rounded down, so halving joins two neighbours.
func folded(f bloom.SplitBlockFilter, blocks int) bloom.SplitBlockFilter {
	if len(f)/2 < blocks {
		return f
	}
	for len(f)/2 >= blocks {
		for i := range f[:len(f)/2] {
			for word := range f[i] {
				f[i][word] = f[2*i][word] | f[2*i+1][word]
			}
		}
		f = f[:len(f)/2]
	}
	return slices.Clone(f) // frees the memory of the large filter
}

// fulltextJSON is the token filters of one column as stored in the metadata.
type fulltextJSON struct {
	Column        uint32 `json:"column"`
	Chinese       bool   `json:"chinese,omitempty"`
	CaseSensitive bool   `json:"case_sensitive,omitempty"`
	// One split block bloom filter for each row group, in the byte format of Parquet's own.
	Filters [][]byte `json:"filters"`

	places []placedFilter // instead of Filters, if they are left in the file
}

// fulltextMetadata returns the value of KeyFulltext. It is empty if no column has token filters.
func fulltextMetadata(cols []*fileColumn) (string, error) {
	var list []fulltextJSON
	for _, c := range cols {
		if t := c.fulltext; t != nil {
			list = append(list, fulltextJSON{
				Column:        c.FieldID,
				Chinese:       t.analyzer.chinese,
				CaseSensitive: t.analyzer.caseSensitive,
				Filters:       t.groups,
			})
		}
	}
	if list == nil {
		return "", nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}

// Fulltext holds the token filters of a segment. It is immutable.
type Fulltext struct {
	columns map[uint32]*fulltextJSON
}

func parseFulltext(text string) (*Fulltext, error) {
	t := &Fulltext{columns: map[uint32]*fulltextJSON{}}
	if text == "" {
		return t, nil
	}
	var list []fulltextJSON
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	for i := range list {
		for g, b := range list[i].Filters {
			if len(b) == 0 || len(b)%bloom.BlockSize != 0 {
				return nil, fmt.Errorf("column %d, row group %d: a filter of %d bytes, want a multiple of %d", list[i].Column, g,
					len(b), bloom.BlockSize)
			}
		}
		t.columns[list[i].Column] = &list[i]
	}
	return t, nil
}

// size estimates the memory of t in bytes.
func (t *Fulltext) size() (n int) {
	for _, c := range t.columns {
		n += 100 + 16*len(c.places)
		for _, f := range c.Filters {
			n += 24 + len(f)
		}
	}
	return n
}

// MayContain reports whether a row group may have a row that contains all tokens of text in the
// column with this Column.FieldID. It returns true for columns and row groups without a filter. r is the file.
func (t *Fulltext) MayContain(r io.ReaderAt, fieldID uint32, rowGroup int, text string) bool {
	c := t.columns[fieldID]
	if c == nil {
		return true
	}
	var has func(hash uint64) bool
	switch {
	case rowGroup < len(c.Filters):
		has = bloom.MakeSplitBlockFilter(c.Filters[rowGroup]).Check
	case rowGroup < len(c.places):
		f := filterAt{r, c.places[rowGroup]}
		has = func(hash uint64) bool {
			may, err := bloom.CheckSplitBlock(f, int64(f.size), hash)
			return may || err != nil
		}
	default:
		return true
	}
	may := true
	a := analyzer{chinese: c.Chinese, caseSensitive: c.CaseSensitive}
	a.each([]byte(text), nil, func(token []byte) { may = may && has(tokenHash.Sum64(token)) })
	return may
}

// Analyzer reports how the tokens of a column were separated; ok is false if it has no
// filters.
func (t *Fulltext) Analyzer(field uint32) (chinese, caseSensitive, ok bool) {
	c := t.columns[field]
	if c == nil {
		return false, false, false
	}
	return c.Chinese, c.CaseSensitive, true
}
