package segment

import (
	"math"
	"strconv"

	"cordwood/proto/schema"
)

const (
	defaultFalsePositives = 0.01
	// The least rate that is worth its bits; a lower one is taken for it.
	minFalsePositives = 1e-6
)

// bloomBits returns the size of the bloom filter that a column has in every row group, in
// bits per value; 0 if it has none. The indexes inverted and skipping ask for one, on
// whole values: it lets an engine skip row groups in a search for one value.
func bloomBits(c *schema.Column) uint {
	if c.Index == nil || c.Index.Kind != schema.InvertedIndex && c.Index.Kind != schema.SkippingIndex {
		return 0
	}
	if c.Type == schema.Boolean || c.Semantic == schema.Timestamp {
		return 0 // two values, or bounds that say more
	}
	return filterBits(c.Index.Options)
}

// autoFalsePositives is the rate of false positives of bloom filters that no index asks
// for. A search for one value in ten million rows meets about a hundred of them.
const autoFalsePositives = "0.001"

// autoBloomBits returns the size of the bloom filters that a column without an index gets in
// row groups where its values look like identifiers; 0 if it never does.
func autoBloomBits(c *schema.Column) uint {
	if c.Index != nil || c.Type != schema.String {
		return 0
	}
	return filterBits(map[string]string{schema.IndexOptionFalsePositiveRate: autoFalsePositives})
}

// filterBits returns the size of a split block bloom filter in bits per value, for the
// rate of false positives that an index's options ask for; 0 for a rate of 1.
func filterBits(options map[string]string) uint {
	p, err := strconv.ParseFloat(options[schema.IndexOptionFalsePositiveRate], 64)
	if err != nil || p <= 0 {
		p = defaultFalsePositives
	}
	if p = max(p, minFalsePositives); p >= 1 {
		return 0
	}
	// Parquet format, BloomFilter.md: eight bits of each value are set, one in each
	// word of a block.
	return uint(math.Ceil(-8 / math.Log(1-math.Pow(p, 1.0/8))))
}
