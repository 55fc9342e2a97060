package schema

import (
	"maps"
	"slices"
	"strings"

	"cordwood/proto/schemapb"
)

// IndexKind is how values of a column are found. Its numbers are those of
// schemapb.IndexKind.
type IndexKind uint8

// The kinds of index.
const (
	InvertedIndex IndexKind = 1
	SkippingIndex IndexKind = 2
	FulltextIndex IndexKind = 3
)

// String is the kind's name in pipelines and statements.
func (k IndexKind) String() string {
	switch k {
	case InvertedIndex:
		return "inverted"
	case SkippingIndex:
		return "skipping"
	case FulltextIndex:
		return "fulltext"
	}
	return "none"
}

// The options of an index.
const (
	IndexOptionAnalyzer          = "analyzer"
	IndexOptionBackend           = "backend"
	IndexOptionCaseSensitive     = "case_sensitive"
	IndexOptionGranularity       = "granularity"
	IndexOptionFalsePositiveRate = "false_positive_rate"
	IndexOptionType              = "type"
)

// Index is the index of one column. It is immutable. It decides how segments are
// written and is of no consequence for the answers to queries.
type Index struct {
	Kind IndexKind
	// Options are complete and normalised texts by option name.
	Options map[string]string
}

// DefaultIndexOptions returns the options of an index that was asked for without any.
func DefaultIndexOptions(k IndexKind) map[string]string {
	switch k {
	case SkippingIndex:
		return map[string]string{IndexOptionGranularity: "10240", IndexOptionFalsePositiveRate: "0.01", IndexOptionType: "BLOOM"}
	case FulltextIndex:
		return map[string]string{
			IndexOptionAnalyzer: "English", IndexOptionBackend: "bloom", IndexOptionCaseSensitive: "false",
			IndexOptionGranularity: "10240", IndexOptionFalsePositiveRate: "0.01",
		}
	}
	return map[string]string{}
}

// SQL is the index's clause in a column's definition, as
// FULLTEXT INDEX WITH (analyzer='English', …), with options in alphabetical order.
func (x *Index) SQL() string {
	s := strings.ToUpper(x.Kind.String()) + " INDEX"
	if len(x.Options) == 0 {
		return s
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(x.Options)) {
		parts = append(parts, key+"="+QuoteLiteral(x.Options[key]))
	}
	return s + " WITH (" + strings.Join(parts, ", ") + ")"
}

func indexFromProto(p *schemapb.Index) *Index {
	if p == nil || p.Kind == schemapb.IndexKind_INDEX_KIND_UNSPECIFIED {
		return nil
	}
	return &Index{Kind: IndexKind(p.Kind), Options: p.Options}
}

func (x *Index) toProto() *schemapb.Index {
	if x == nil {
		return nil
	}
	return &schemapb.Index{Kind: schemapb.IndexKind(x.Kind), Options: x.Options}
}
