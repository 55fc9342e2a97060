package segment

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/parquet-go/parquet-go/bloom"

	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
)

// KeyFulltext is the key of the token filters in the key-value metadata. It is part
// of the format.
const KeyFulltext = "cordwood.fulltext"

const (
	// maxFilterBytes bounds the filter of a column in a row group: the footer, which
	// every query reads, holds it. Beyond it the filter lets more pass.
	maxFilterBytes = 128 << 10
	// maxTokens bounds the different tokens that are counted to size a filter; more get the
	// largest one.
	maxTokens = maxFilterBytes
	// smallFilterBytes is the size up to which a filter is made for smallFilterRate, even if the index
	// asks for a higher rate: a search asks hundreds of row groups, so that at a rate of 0.01 for each
	// nearly every absent word has some of them read.
	smallFilterBytes = 32 << 10
	smallFilterRate  = "0.0001"
)

var smallFilterBits = filterBits(map[string]string{schema.IndexOptionFalsePositiveRate: smallFilterRate})

// tokenHash is the hash of a token; the same as in Parquet's own bloom filters.
var tokenHash bloom.XXH64

// fulltext collects the token filters of a column with a fulltext index, row group by
// row group.
type fulltext struct {
	analyzer analyzer
	bits     uint // per token
	groups   [][]byte

	tokens hashSet                // hashes, of the row group under way
	filter bloom.SplitBlockFilter // takes them once they are too many
	buf    []byte
	known  knownWords // of the row group under way
}

// newFulltext returns nil for a column without such an index.
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

// maxTokenBuffer is the most memory for one token that is kept from one row group to the
// next: a text without a space is one token.
const maxTokenBuffer = 64 << 10

// token adds a token. They are collected, to size the filter by their number; when
// there are too many, the largest filter takes them at once.
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
		t.filter = make(bloom.SplitBlockFilter, maxFilterBytes/bloom.BlockSize)
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
		blocks := bloom.NumSplitBlocksOf(int64(t.tokens.n), t.bits)
		better := bloom.NumSplitBlocksOf(int64(t.tokens.n), max(t.bits, smallFilterBits))
		blocks = max(blocks, min(better, smallFilterBytes/bloom.BlockSize), 1)
		t.filter = make(bloom.SplitBlockFilter, min(blocks, maxFilterBytes/bloom.BlockSize))
		t.insert()
	}
	t.groups = append(t.groups, t.filter.Bytes())
	t.filter = nil
	clear(t.tokens.recent[:])
	clear(t.known[:])
}

// fulltextJSON is the form in the metadata, one for each column.
type fulltextJSON struct {
	Column        uint32 `json:"column"`
	Chinese       bool   `json:"chinese,omitempty"`
	CaseSensitive bool   `json:"case_sensitive,omitempty"`
	// A split block bloom filter per row group, in the bytes of Parquet's own.
	Filters [][]byte `json:"filters"`
}

// fulltextMetadata returns the value of KeyFulltext; empty without such columns.
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

// Fulltext are the token filters of a segment. It is immutable.
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

// MayContain reports whether a row group may have a row whose text has all tokens of
// text in the column with that Column.FieldID. It is true for columns and row groups without a filter.
func (t *Fulltext) MayContain(fieldID uint32, rowGroup int, text string) bool {
	c := t.columns[fieldID]
	if c == nil || rowGroup >= len(c.Filters) {
		return true
	}
	filter := bloom.MakeSplitBlockFilter(c.Filters[rowGroup])
	may := true
	a := analyzer{chinese: c.Chinese, caseSensitive: c.CaseSensitive}
	a.each([]byte(text), nil, func(token []byte) { may = may && filter.Check(tokenHash.Sum64(token)) })
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
