package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schemapb"
)

// IndexKind is the kind of an index. Its numbers are the numbers of schemapb.IndexKind.
type IndexKind uint8

// The kinds of index.
const (
	InvertedIndex IndexKind = 1
	SkippingIndex IndexKind = 2
	FulltextIndex IndexKind = 3
)

// Valid reports whether k is one of the kinds.
func (k IndexKind) Valid() bool { return k >= InvertedIndex && k <= FulltextIndex }

// String returns the kind's name in pipelines and statements.
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

// Index is the index of one column. It is immutable. It affects how segments are written, and never
// the answers to queries.
type Index struct {
	Kind IndexKind
	// Options are complete and normalised texts by option name.
	Options map[string]string
}

// DefaultIndexOptions returns the options of an index that is created without options.
func DefaultIndexOptions(k IndexKind) map[string]string {
	switch k {
	case SkippingIndex:
		return map[string]string{
			IndexOptionGranularity: "10240", IndexOptionFalsePositiveRate: "0.01", IndexOptionType: "BLOOM",
		}
	case FulltextIndex:
		return map[string]string{
			IndexOptionAnalyzer: "English", IndexOptionBackend: "bloom", IndexOptionCaseSensitive: "false",
			IndexOptionGranularity: "10240", IndexOptionFalsePositiveRate: "0.01",
		}
	}
	return map[string]string{}
}

// ParseIndexKind returns the kind of that name, in any case.
func ParseIndexKind(name string) (IndexKind, bool) {
	for _, k := range []IndexKind{InvertedIndex, SkippingIndex, FulltextIndex} {
		if strings.EqualFold(name, k.String()) {
			return k, true
		}
	}
	return 0, false
}

// NewIndex returns an index for a column of type t. The given options may be in any spelling;
// others get their defaults. The error has code InvalidArguments.
func NewIndex(k IndexKind, t Type, options map[string]string) (*Index, error) {
	if k == FulltextIndex && t != String {
		return nil, errs.New(errs.InvalidArguments, "a fulltext index needs a String column, not %s", t)
	}
	x := &Index{Kind: k, Options: DefaultIndexOptions(k)}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if _, known := x.Options[key]; !known {
			return nil, unknownIndexOption(k, key, slices.Sorted(maps.Keys(x.Options)))
		}
		value, want := normalizeIndexOption(key, options[key])
		if want != "" {
			return nil, errs.New(errs.InvalidArguments, "Option %s of a %s index is %s; expected %s", key, k,
				quoteShort(options[key]), want)
		}
		x.Options[key] = value
	}
	return x, nil
}

func unknownIndexOption(k IndexKind, key string, known []string) error {
	if len(known) == 0 {
		return errs.New(errs.InvalidArguments, "Unknown option %s of an index of kind %s, which has no options",
			quoteShort(key), k)
	}
	return errs.New(errs.InvalidArguments, "Unknown option %s of an index of kind %s%s; known are: %s", quoteShort(key), k,
		nearest.DidYouMean(", ", key, known), strings.Join(known, ", "))
}

// normalizeIndexOption returns a value in its stored form, or what is expected instead.
func normalizeIndexOption(key, value string) (normal, want string) {
	choices := map[string][]string{
		IndexOptionAnalyzer: {"English", "Chinese"}, IndexOptionBackend: {"bloom", "tantivy"},
		IndexOptionCaseSensitive: {"false", "true"}, IndexOptionType: {"BLOOM"},
	}
	switch key {
	case IndexOptionGranularity:
		if n, err := strconv.ParseUint(value, 10, 31); err == nil && n > 0 {
			return strconv.FormatUint(n, 10), ""
		}
		return "", "an integer above 0"
	case IndexOptionFalsePositiveRate:
		if f, err := strconv.ParseFloat(value, 64); err == nil && f > 0 && f <= 1 {
			return strconv.FormatFloat(f, 'g', -1, 64), ""
		}
		return "", "a number above 0 and at most 1"
	}
	for _, choice := range choices[key] {
		if strings.EqualFold(choice, value) {
			return choice, ""
		}
	}
	return "", "one of " + strings.Join(choices[key], ", ")
}

// SQL returns the index's clause in a column's definition, as
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
