package catalog

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

const (
	int32Type  = schemapb.Type_TYPE_INT32
	int64Type  = schemapb.Type_TYPE_INT64
	uint64Type = schemapb.Type_TYPE_UINT64
	floatType  = schemapb.Type_TYPE_FLOAT64
	textType   = schemapb.Type_TYPE_STRING
)

// tableOf returns a table with a time index and the given fields.
func tableOf(fields ...*schemapb.Column) *schemapb.Table {
	at := &schemapb.Column{
		Name: "at", Type: schemapb.Type_TYPE_TIMESTAMP_SECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP,
	}
	return NewTable("public", "t", append([]*schemapb.Column{at}, fields...), map[string]string{}, 1)
}

// textOf returns a short description of a column.
func textOf(c *schemapb.Column) string {
	text := strings.TrimPrefix(c.Type.String(), "TYPE_")
	if c.WithinDouble {
		text += " within"
	}
	if c.Checking {
		text += " checking"
	}
	return text
}

// TestGrowWidens checks the type of a column after a write with another type of number.
func TestGrowWidens(t *testing.T) {
	field := schemapb.Semantic_SEMANTIC_FIELD
	for _, tt := range []struct {
		have, want *schemapb.Column
		rule       string
		before     bool // protocol version 9
		now        string
	}{
		{&schemapb.Column{Type: int64Type, WithinDouble: true}, &schemapb.Column{Type: floatType}, "", false, "FLOAT64"},
		{&schemapb.Column{Type: int64Type, WithinDouble: true}, &schemapb.Column{Type: floatType}, "aside", false, "FLOAT64"},
		{
			&schemapb.Column{Type: uint64Type, WithinDouble: true}, &schemapb.Column{Type: floatType}, "widen", false,
			"FLOAT64",
		},
		{&schemapb.Column{Type: int32Type}, &schemapb.Column{Type: floatType}, "", false, "FLOAT64"},
		{&schemapb.Column{Type: int32Type}, &schemapb.Column{Type: floatType}, "", true, "conflict"},
		{&schemapb.Column{Type: int64Type}, &schemapb.Column{Type: floatType}, "", false, "conflict"},
		{
			&schemapb.Column{Type: int64Type, WithinDouble: true}, &schemapb.Column{Type: floatType}, "error", false,
			"conflict",
		},
		{&schemapb.Column{Type: int64Type, WithinDouble: true}, &schemapb.Column{Type: floatType}, "cast", false, "conflict"},
		{&schemapb.Column{Type: int64Type, WithinDouble: true}, &schemapb.Column{Type: textType}, "", false, "conflict"},
		{
			&schemapb.Column{Type: int64Type, WithinDouble: true}, &schemapb.Column{Type: int64Type, WithinDouble: true},
			"", false, "same",
		},
		{&schemapb.Column{Type: int64Type, WithinDouble: true}, &schemapb.Column{Type: int64Type}, "", false, "INT64"},
		{&schemapb.Column{Type: floatType}, &schemapb.Column{Type: int64Type, WithinDouble: true}, "", false, "same"},
		{&schemapb.Column{Type: floatType}, &schemapb.Column{Type: int64Type}, "", false, "conflict"},
		{
			&schemapb.Column{Type: floatType}, &schemapb.Column{Type: int64Type, WithinDouble: true}, "error", false,
			"conflict",
		},
		{&schemapb.Column{Type: floatType}, &schemapb.Column{Type: int64Type, WithinDouble: true}, "", true, "conflict"},
		{&schemapb.Column{Type: int32Type}, &schemapb.Column{Type: int64Type, WithinDouble: true}, "", false, "conflict"},
	} {
		tt.have.Name, tt.want.Name, tt.have.Semantic = "n", "n", field
		name := fmt.Sprintf("%s gets %s by %q, before %v", textOf(tt.have), textOf(tt.want), tt.rule, tt.before)
		table := tableOf(tt.have)
		if tt.rule != "" {
			table.Options["on_type_conflict"] = tt.rule
		}
		added, changed, conflicts := Grow(table, []*schemapb.Column{tt.want}, !tt.before)
		now := textOf(table.Columns[1])
		switch {
		case len(conflicts) > 0:
			now = "conflict"
		case !changed:
			now = "same"
		}
		if now != tt.now || added != 0 || table.Columns[1].Id != 2 {
			t.Errorf("%s: %s, want %s", name, now, tt.now)
		}
	}
}

// TestMarks checks that only new 64-bit fields get marks, and none with a default that a double
// would round.
func TestMarks(t *testing.T) {
	wide, small := "9007199254740993", "7"
	for _, tt := range []struct {
		c    *schemapb.Column
		want bool
	}{
		{&schemapb.Column{Type: int64Type, WithinDouble: true}, true},
		{&schemapb.Column{Type: int64Type}, false},
		{&schemapb.Column{Type: int32Type, WithinDouble: true}, false},
		{&schemapb.Column{Type: int64Type, WithinDouble: true, Semantic: schemapb.Semantic_SEMANTIC_TAG}, false},
		{&schemapb.Column{Type: int64Type, WithinDouble: true, DefaultValue: &small}, true},
		{&schemapb.Column{Type: int64Type, WithinDouble: true, DefaultValue: &wide}, false},
	} {
		tt.c.Name = "n"
		if got := tableOf(tt.c).Columns[1].WithinDouble; got != tt.want {
			t.Errorf("%s: the mark is %v, want %v", tt.c.String(), got, tt.want)
		}
	}
}

// TestModifyColumn follows the steps by which a column gets a wider type.
func TestModifyColumn(t *testing.T) {
	const once, begin, finish = metapb.ModifyColumn_STEP_UNSPECIFIED, metapb.ModifyColumn_STEP_BEGIN,
		metapb.ModifyColumn_STEP_FINISH
	wide := "9007199254740993"
	full := &schemapb.Index{Kind: schemapb.IndexKind_INDEX_KIND_FULLTEXT}
	for _, tt := range []struct {
		name  string
		c     *schemapb.Column
		to    schemapb.Type
		step  metapb.ModifyColumn_Step
		want  string // of the column, or the error
		fence bool   // whether older writers are refused
	}{
		{"with the mark", &schemapb.Column{Type: int64Type, WithinDouble: true}, floatType, once, "FLOAT64", false},
		{"begun with the mark", &schemapb.Column{Type: int64Type, WithinDouble: true}, floatType, begin, "FLOAT64", false},
		{"small integers", &schemapb.Column{Type: int32Type}, floatType, once, "FLOAT64", false},
		{"small to larger integers", &schemapb.Column{Type: int32Type}, int64Type, once, "INT64 within", false},
		{"without the mark", &schemapb.Column{Type: int64Type}, floatType, once, "!may have integers beyond ±2^53", false},
		{"begun", &schemapb.Column{Type: int64Type}, floatType, begin, "INT64 checking", true},
		{"finished", &schemapb.Column{Type: int64Type, Checking: true}, floatType, finish, "FLOAT64", false},
		{
			"somebody wrote a wide one", &schemapb.Column{Type: int64Type}, floatType, finish,
			"!may have integers beyond ±2^53", false,
		},
		{"the same type", &schemapb.Column{Type: floatType}, floatType, once, "FLOAT64", false},
		{
			"narrower", &schemapb.Column{Type: floatType}, int64Type, once, "!not all values of type Float64",
			false,
		},
		{"text", &schemapb.Column{Type: int64Type, WithinDouble: true}, textType, once, "!cannot become String", false},
		{
			"a tag", &schemapb.Column{Type: int32Type, Semantic: schemapb.Semantic_SEMANTIC_TAG}, floatType, once,
			"!is a TAG", false,
		},
		{
			"a default", &schemapb.Column{Type: int64Type, DefaultValue: &wide}, floatType, begin,
			"!its default 9007199254740993 would be rounded", false,
		},
		{"an index of text", &schemapb.Column{Type: int32Type, Index: full}, floatType, once, "!has a fulltext index", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Name = "n"
			table := tableOf(tt.c)
			table.Columns[1].Checking = tt.c.Checking
			_, err := ModifyColumn(table, &metapb.ModifyColumn{Name: "n", Id: 2, Type: tt.to, Step: tt.step})
			if want, fails := strings.CutPrefix(tt.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := textOf(table.Columns[1]); got != tt.want || table.Columns[1].Id != 2 ||
				(table.MinWriterVersion > table.Version) != tt.fence {
				t.Errorf("%s with id %d, writers from %d at version %d", got, table.Columns[1].Id,
					table.MinWriterVersion, table.Version)
			}
		})
	}
	table := tableOf(&schemapb.Column{Name: "n", Type: int32Type})
	if _, err := ModifyColumn(table, &metapb.ModifyColumn{Name: "n", Id: 3, Type: floatType}); err == nil ||
		!strings.Contains(err.Error(), "was changed meanwhile") {
		t.Errorf("error %v for another column", err)
	}
	if _, err := ModifyColumn(table, &metapb.ModifyColumn{Name: "m", Id: 2, Type: floatType}); err == nil ||
		!strings.Contains(err.Error(), "not found") {
		t.Errorf("error %v for no column", err)
	}
}

// TestRenameColumn checks that the id stays, and that writers which know only the former name are
// refused.
func TestRenameColumn(t *testing.T) {
	table := tableOf(&schemapb.Column{Name: "a", Type: int64Type}, &schemapb.Column{Name: "b", Type: textType})
	if err := RenameColumn(table, "a", "b"); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("error %v", err)
	}
	if err := RenameColumn(table, "x", "y"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("error %v", err)
	}
	if err := RenameColumn(table, "a", "c"); err != nil || table.Columns[1].Name != "c" || table.Columns[1].Id != 2 ||
		table.MinWriterVersion != table.Version+1 {
		t.Errorf("error %v: %v", err, table)
	}
	if err := RenameColumn(table, "at", "time"); err != nil || table.Columns[0].Name != "time" {
		t.Errorf("error %v: the time index is %v", err, table.Columns[0])
	}
}

// TestMessageColumn checks that the option accepts only text columns. It must follow the column's
// name, and be removed with the column.
func TestMessageColumn(t *testing.T) {
	const option = schema.OptionMessageColumn
	table := tableOf(&schemapb.Column{Name: "n", Type: int64Type}, &schemapb.Column{Name: "note", Type: textType})
	for name, want := range map[string]string{"nope": "not found", "n": "a String is needed", "at": "a String is needed"} {
		if _, err := SetOptions(table, map[string]string{option: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
		created := tableOf(&schemapb.Column{Name: "n", Type: int64Type})
		created.Options = map[string]string{option: name}
		if err := CheckColumnOptions(created); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("created with %s: error %v", name, err)
		}
	}
	if changed, err := SetOptions(table, map[string]string{option: "note"}); err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	if err := CheckColumnOptions(table); err != nil {
		t.Error(err)
	}
	if err := RenameColumn(table, "note", "remark"); err != nil || table.Options[option] != "remark" {
		t.Errorf("renamed: %v, options %v", err, table.Options)
	}
	if err := DropColumn(table, "n"); err != nil || table.Options[option] != "remark" {
		t.Errorf("another one dropped: %v, options %v", err, table.Options)
	}
	if err := DropColumn(table, "remark"); err != nil || len(table.Options) != 0 {
		t.Errorf("dropped: %v, options %v", err, table.Options)
	}
}

// TestLokiLabels checks that the option accepts only columns that can be labels, and that it follows
// their names.
func TestLokiLabels(t *testing.T) {
	const option = schema.OptionLokiLabels
	table := tableOf(&schemapb.Column{Name: "n", Type: int64Type}, &schemapb.Column{Name: "note", Type: textType},
		&schemapb.Column{Name: "more", Type: schemapb.Type_TYPE_JSON})
	for names, want := range map[string]string{
		"n,nope": "Column `nope` not found", "at": "cannot be a label", "note,more": "cannot be a label",
	} {
		if _, err := SetOptions(table, map[string]string{option: names}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", names, err)
		}
		created := tableOf(&schemapb.Column{Name: "n", Type: int64Type}, table.Columns[3])
		created.Options = map[string]string{option: names}
		if err := CheckColumnOptions(created); err == nil {
			t.Errorf("created with %s", names)
		}
	}
	if changed, err := SetOptions(table, map[string]string{option: "n,note"}); err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	if err := RenameColumn(table, "note", "a,b"); err == nil || !strings.Contains(err.Error(), "is in loki_labels") {
		t.Errorf("renamed to a name with a comma: %v", err)
	}
	if err := RenameColumn(table, "note", "remark"); err != nil || table.Options[option] != "n,remark" {
		t.Errorf("renamed: %v, options %v", err, table.Options)
	}
	if err := DropColumn(table, "n"); err != nil || table.Options[option] != "remark" {
		t.Errorf("dropped: %v, options %v", err, table.Options)
	}
	if err := DropColumn(table, "remark"); err != nil || len(table.Options) != 0 {
		t.Errorf("dropped: %v, options %v", err, table.Options)
	}
}

// TestModifyIndex adds an index to a column and removes it.
func TestModifyIndex(t *testing.T) {
	table := tableOf(&schemapb.Column{Name: "n", Type: int64Type}, &schemapb.Column{Name: "s", Type: textType})
	full := &schemapb.Index{Kind: schemapb.IndexKind_INDEX_KIND_FULLTEXT}
	if changed, err := ModifyIndex(table, "s", full); err != nil || !changed || table.Columns[2].Index == nil {
		t.Errorf("changed %v, error %v", changed, err)
	}
	if changed, err := ModifyIndex(table, "s", full); err != nil || changed {
		t.Errorf("again: changed %v, error %v", changed, err)
	}
	if changed, err := ModifyIndex(table, "s", nil); err != nil || !changed || table.Columns[2].Index != nil {
		t.Errorf("taken away: changed %v, error %v", changed, err)
	}
	if _, err := ModifyIndex(table, "n", full); err == nil || !strings.Contains(err.Error(), "needs a String") {
		t.Errorf("error %v", err)
	}
}
