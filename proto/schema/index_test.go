package schema

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
)

func TestNewIndex(t *testing.T) {
	for _, tt := range []struct {
		kind    string
		typ     Type
		options map[string]string
		want    string // the SQL, or after a ! a part of the error
	}{
		{"inverted", Int64, nil, "INVERTED INDEX"},
		{
			"inverted", Int64,
			map[string]string{"granularity": "1"},
			`!Unknown option "granularity" of an index of kind inverted`,
		},
		{"SKIPPING", Int64, nil, "SKIPPING INDEX WITH (false_positive_rate='0.01', granularity='10240', type='BLOOM')"},
		{
			"skipping", String,
			map[string]string{"granularity": "010", "type": "bloom", "false_positive_rate": "0.50"},
			"SKIPPING INDEX WITH (false_positive_rate='0.5', granularity='10', type='BLOOM')",
		},
		{
			"skipping", String,
			map[string]string{"granularity": "0"},
			`!Option granularity of a skipping index is "0"; expected an integer above 0`,
		},
		{"skipping", String, map[string]string{"false_positive_rate": "1.1"}, "!expected a number above 0 and at most 1"},
		{"skipping", String, map[string]string{"type": "tree"}, "!expected one of BLOOM"},
		{
			"FullText", String,
			map[string]string{"analyzer": "chinese", "case_sensitive": "TRUE"},
			"FULLTEXT INDEX WITH (analyzer='Chinese', backend='bloom', case_sensitive='true', " +
				"false_positive_rate='0.01', granularity='10240')",
		},
		{"fulltext", String, map[string]string{"analyzer": "French"}, "!expected one of English, Chinese"},
		{"fulltext", Int64, nil, "!a fulltext index needs a String column, not Int64"},
	} {
		kind, ok := ParseIndexKind(tt.kind)
		if !ok {
			t.Fatal(tt.kind)
		}
		x, err := NewIndex(kind, tt.typ, tt.options)
		if want, fails := strings.CutPrefix(tt.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), want) || errs.CodeOf(err) != errs.InvalidArguments {
				t.Errorf("%s %v: %v, want %q", tt.kind, tt.options, err, want)
			}
			continue
		}
		if err != nil || x.SQL() != tt.want {
			t.Errorf("%s %v: %v, %v, want %s", tt.kind, tt.options, x, err, tt.want)
		}
	}
	if _, ok := ParseIndexKind("none"); ok {
		t.Error("none is not a kind")
	}
}
