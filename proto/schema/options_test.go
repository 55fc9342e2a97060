package schema

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
)

func TestNormalizeOption(t *testing.T) {
	for _, c := range []struct{ key, value, want, fails string }{
		{"ttl", "7d", "7days", ""},
		{"ttl", "", "forever", ""},
		{"ttl", "soon", "", "Failed to parse table option, key: ttl, value: soon"},
		{"append_mode", "TRUE", "true", ""},
		{"append_mode", "False", "false", ""},
		{"append_mode", "1", "", "Failed to parse table option, key: append_mode, value: 1"},
		{"skip_wal", "true", "true", ""},
		{"skip_wal", "", "", "key: skip_wal, value: "},
		{"auto_create_table", "false", "false", ""},
		{"auto_create_table", "no", "", "hint must be a boolean"},
		{"merge_mode", "last_row", "last_row", ""},
		{"merge_mode", "last_non_null", "last_non_null", ""},
		{"merge_mode", "LAST_ROW", "", "want last_row or last_non_null"},
		{"sst_format", "flat", "flat", ""},
		{"sst_format", "primary_key", "primary_key", ""},
		{"sst_format", "tall", "", "want flat or primary_key"},
		{"physical_table", "metrics 1", "metrics 1", ""},
		{"physical_table", strings.Repeat("x", 129), "", "at most 128 bytes"},
		{"partitions", "4", "4", ""},
		{"partitions", "04", "4", ""},
		{"partitions", "AUTO", "auto", ""},
		{"partitions", "0", "", "want auto or a number from 1 to 256"},
		{"partitions", "many", "", "want auto or a number from 1 to 256"},
		{"message_column", "http.note", "http.note", ""},
		{"loki_labels", " host, http.note,host ", "host,http.note", ""},
		{"local_for", "24h", "1day", ""},
		{"local_for", "0", "forever", ""},
		{"local_for", "instant", "", "want a duration, or forever"},
		{"local_for", "30", "", "want a unit"},
		{"max_size", "2048 mib", "2GiB", ""},
		{"max_size", "1500000", "1500000", ""},
		{"max_size", "0", "0", ""},
		{"max_size", "1KiB", "", "want a size of at least 1MiB, such as 100GiB, or 0 for no limit"},
		{"max_size", "-1", "", "want a size"},
		{"iceberg", "v3", "v3", ""},
		{"iceberg", "v4", "", "want v2, v3 or daily"},
		{"iceberg", "daily", "daily", ""},
		{"iceberg_names", "underscore", "underscore", ""},
		{"iceberg_names", "dots", "", "want underscore"},
		{"loki_labels", "", "", "want names of columns, separated by commas"},
		{"loki_labels", "a,,b", "", "want names of columns, separated by commas"},
		{"loki_labels", strings.Repeat("a,", 40) + "b", "a,b", ""},
		{
			"loki_labels", strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyzABCDEFG", ""), ","), "",
			"at most 32 columns are allowed",
		},
		{"cold", "FALSE", "false", ""},
		{"cold", "later", "", "want true or false"},
		{"message_column", "", "", "want the name of a column of texts"},
		{"message_column", "a\x00b", "", "want the name of a column of texts"},
		{"comment", "it's", "it's", ""},
		{"comment", "\xff", "", "not valid UTF-8"},
		{"comment", strings.Repeat("x", 4097), "", "4096 bytes"},
		{"colour", "red", "", `Unknown table option, key: "colour"`},
	} {
		got, err := NormalizeOption(c.key, c.value)
		switch {
		case c.fails == "" && (err != nil || got != c.want):
			t.Errorf("%s=%.20s: got %q, %v; want %q", c.key, c.value, got, err, c.want)
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) ||
			errs.CodeOf(err) != errs.InvalidArguments):
			t.Errorf("%s=%.20s: error %v, want an error of code 1004 with %q", c.key, c.value, err, c.fails)
		}
	}
}

func TestOptionName(t *testing.T) {
	for name, want := range map[string]string{
		"ttl": "ttl", "svc_ttl": "ttl", "svc_table_ttl": "ttl", "table_ttl": "ttl", "svc_merge_mode": "merge_mode",
		"sst_format": "sst_format", "read_preference": "", "": "", "svc_": "", "TTL": "",
	} {
		if got, ok := OptionName(name); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v", name, got, ok)
		}
	}
}

func TestStoredOptions(t *testing.T) {
	for _, c := range []struct {
		name      string
		given     map[string]string
		logWrite  bool
		want      map[string]string
		wantError string
	}{
		{"nothing, sql", nil, false, map[string]string{}, ""},
		{
			"nothing, log", nil, true,
			map[string]string{"append_mode": "true", "comment": CreatedOnInsertion},
			"",
		},
		{
			"deduplicating",
			map[string]string{"append_mode": "FALSE", "merge_mode": "last_non_null", "comment": "c"},
			true,
			map[string]string{"append_mode": "false", "merge_mode": "last_non_null", "comment": "c"},
			"",
		},
		{
			"merge mode alone turns append off",
			map[string]string{"merge_mode": "last_non_null", "comment": "c"},
			true,
			map[string]string{"append_mode": "false", "merge_mode": "last_non_null", "comment": "c"},
			"",
		},
		{
			"last row does not",
			map[string]string{"merge_mode": "last_row", "comment": "c"},
			true,
			map[string]string{"append_mode": "true", "merge_mode": "last_row", "comment": "c"},
			"",
		},
		{
			"not stored",
			map[string]string{"auto_create_table": "true", "ttl": "1d"},
			false,
			map[string]string{"ttl": "1day"},
			"",
		},
		{
			"contradiction",
			map[string]string{"append_mode": "true", "merge_mode": "last_non_null"},
			true,
			nil, "only last_row is allowed with append mode",
		},
		{
			"partitions of a log table",
			map[string]string{"partitions": "4", "comment": "c"},
			true,
			map[string]string{"append_mode": "true", "partitions": "4", "comment": "c"},
			"",
		},
		{
			"partitions of a table that merges",
			map[string]string{"partitions": "auto"},
			false,
			map[string]string{"partitions": "auto"},
			"",
		},
		{"one partition is none", map[string]string{"partitions": "1"}, false, map[string]string{"partitions": "1"}, ""},
		{"bad value", map[string]string{"ttl": "abc"}, true, nil, "key: ttl, value: abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(c.given)
			got, err := StoredOptions(c.given, c.logWrite)
			if len(c.given) != before {
				t.Error("the given map was changed")
			}
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) || errs.CodeOf(err) != errs.InvalidArguments {
					t.Errorf("error %v, want an error of code 1004 with %q", err, c.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTableModes(t *testing.T) {
	var plain Table
	if plain.AppendMode() || plain.MergeMode() != MergeLastRow {
		t.Error("a table without options appends or merges by column")
	}
	merging := Table{Options: map[string]string{"append_mode": "false", "merge_mode": "last_non_null"}}
	if merging.AppendMode() || merging.MergeMode() != MergeLastNonNull {
		t.Error("options have no effect")
	}
}

// TestDDLPage checks that docs/ddl.md contains every option of tables and indexes, and every type.
func TestDDLPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/ddl.md")
	if err != nil {
		t.Fatal(err)
	}
	_, options, found := strings.Cut(string(page), "### Table options")
	if !found {
		t.Fatal("docs/ddl.md has no part on table options")
	}
	for _, name := range optionNames {
		if name != OptionAutoCreateTable && !strings.Contains(options, "\n| `"+name+"` |") {
			t.Errorf("docs/ddl.md lacks the table option %s", name)
		}
	}
	for _, kind := range []IndexKind{SkippingIndex, FulltextIndex, InvertedIndex} {
		for name, value := range DefaultIndexOptions(kind) {
			if !strings.Contains(string(page), "\n| `"+name+"` | ") || !strings.Contains(string(page), "`"+value+"`") {
				t.Errorf("docs/ddl.md lacks the index option %s with its default %s", name, value)
			}
		}
	}
	for _, typ := range Types() {
		name, _, _ := strings.Cut(typ.SQL(), " ")
		if name, _, _ = strings.Cut(name, "("); !strings.Contains(string(page), "`"+name) {
			t.Errorf("docs/ddl.md lacks the type %s", typ.SQL())
		}
	}
}

// TestHintNames checks the options that a write can give. message_column and loki_labels are not among
// them, because the table must have the columns. Neither are cold, max_size and those for Iceberg, which are for
// administrators.
func TestHintNames(t *testing.T) {
	for name, want := range map[string]string{
		"ttl": "ttl", "svc_ttl": "ttl", "auto_create_table": "auto_create_table", "message_column": "", "loki_labels": "",
		"cold": "", "local_for": "", "max_size": "", "iceberg": "", "iceberg_names": "", "colour": "",
	} {
		if got, ok := HintName(name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	if !slices.Contains(TableOptionNames(), OptionMessageColumn) || slices.Contains(HintNames(), OptionMessageColumn) ||
		len(HintNames()) != len(optionNames)-len(StatementOptions) {
		t.Errorf("hints %v, options of tables %v", HintNames(), TableOptionNames())
	}
}

// TestOptionValues checks that every offered value of an option is valid.
func TestOptionValues(t *testing.T) {
	offered := 0
	for _, name := range optionNames {
		for _, value := range OptionValues(name) {
			offered++
			if got, err := NormalizeOption(name, value); err != nil || got != value {
				t.Errorf("%s=%s: %q, %v", name, value, got, err)
			}
		}
	}
	if offered < 2*len(conflictRules) || slices.Contains(TableOptionNames(), OptionAutoCreateTable) {
		t.Errorf("%d values, options %v", offered, TableOptionNames())
	}
}

// TestQuotaValues checks which values quotas take, and how they are stored.
func TestQuotaValues(t *testing.T) {
	for _, tt := range []struct{ quota, value, want string }{
		{QuotaTables, "010", "10"},
		{QuotaRows, "0", "0"},
		{QuotaRows, "1e3", ""},
		{QuotaRows, "10MiB", ""},
		{QuotaRows, "1000000001", ""},
		{QuotaBytes, "10MiB", "10485760"},
		{QuotaStored, "2 TB", "2000000000000"},
		{QuotaStored, "-1", ""},
		{QuotaStored, "9999999999TiB", ""},
		{QuotaStored, "MiB", ""},
		{QuotaBurst, "90s", "1m30s"},
		{QuotaDuration, "0.5s", "500ms"},
		{QuotaDuration, "0s", ""},
		{QuotaDuration, "25h", ""},
		{QuotaCPU, "60", "60"},
		{QuotaCPU, "60s", ""},
		{QuotaBurst, "10", ""},
		{QuotaBurst, "2h", ""},
	} {
		got, err := NormalizeQuota(tt.quota, tt.value)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s=%s: %q, %v", tt.quota, tt.value, got, err)
		}
	}
}
