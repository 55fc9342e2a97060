package segment

import (
	"math"
	"strconv"

	"cordwood/proto/schema"
)

const (
	defaultFalsePositives = 0.01
	// minFalsePositives is the lowest false positive rate that is supported. Lower rates are raised
	// to it.
	minFalsePositives = 1e-6
)

// bloomBits returns the size of the bloom filters that the index of a column requires, in bits per
// value, or 0 if it requires none. The indexes inverted and skipping require bloom filters on whole
// values, so that an engine can skip row groups in a search for one value.
func bloomBits(c *schema.Column) uint {
	if c.Index == nil || c.Index.Kind != schema.InvertedIndex && c.Index.Kind != schema.SkippingIndex {
		return 0
	}
	if c.Type == schema.Boolean || c.Semantic == schema.Timestamp {
		return 0 // booleans have two values; for the others, bounds are more useful
	}
	return filterBits(c.Index.Options)
}

// autoFalsePositives is the false positive rate of bloom filters that no index requires. A search
// for one value in ten million rows checks about a hundred of them.
const autoFalsePositives = "0.001"

// autoBloomBits returns the size of the bloom filters that a column without an index gets in row
// groups whose values look like identifiers, or 0 if it never gets one.
func autoBloomBits(c *schema.Column) uint {
	if c.Index != nil || c.Type != schema.String {
		return 0
	}
	return filterBits(map[string]string{schema.IndexOptionFalsePositiveRate: autoFalsePositives})
}

// filterBits returns the size of a split block bloom filter, in bits per value, for the false
// positive rate in an index's options, or 0 for a rate of 1.
func filterBits(options map[string]string) uint {
	p, err := strconv.ParseFloat(options[schema.IndexOptionFalsePositiveRate], 64)
	if err != nil || p <= 0 {
		p = defaultFalsePositives
	}
	if p = max(p, minFalsePositives); p >= 1 {
		return 0
	}
	// Parquet format, BloomFilter.md: each value sets eight bits, one in each word of a block.
	return uint(math.Ceil(-8 / math.Log(1-math.Pow(p, 1.0/8))))
}
