package split

import (
	"strings"

	"cordwood/shard/query/engine/sql"
)

// This file replaces stars by columns: stars over an inner query, and stars with EXCLUDE, REPLACE or RENAME.

// expandStars replaces the stars of a SELECT list. A plain star over the table stays.
func (b *block) expandStars(list []any) ([]any, error) {
	var out []any
	for _, v := range list {
		item, _ := v.(sql.Node)
		if sql.Text(item, "class") != "STAR" || b.over == nil && isStar(item) {
			out = append(out, v)
			continue
		}
		columns, err := b.starColumns()
		if err != nil {
			return nil, err
		}
		if columns, err = b.expandStar(item, columns); err != nil {
			return nil, err
		}
		out = append(out, columns...)
	}
	return out, nil
}

// starColumns returns the columns that a star stands for.
func (b *block) starColumns() (out []any, err error) {
	names := b.Columns
	if b.over != nil {
		columns, err := b.over.outputs()
		if err != nil {
			return nil, err
		}
		names = nil
		for _, d := range columns {
			if d.name == "" {
				return nil, notSplit(causeNames, "a column of an inner query has no name; give it an alias")
			}
			names = append(names, d.name)
		}
	}
	for _, name := range names {
		out = append(out, columnOf(name))
	}
	return out, nil
}

// expandStar returns the columns of a star after its EXCLUDE, REPLACE and RENAME.
func (b *block) expandStar(star sql.Node, columns []any) (out []any, err error) {
	if of := sql.Text(star, "relation_name"); of != "" && !strings.EqualFold(of, b.alias) ||
		!sql.OnlyKeys(star, "relation_name", "exclude_list", "replace_list", "rename_list") {
		return nil, notSplit(causeForm, "a star of another form than *, EXCLUDE, REPLACE and RENAME; write the columns")
	}
	excluded := map[string]bool{}
	list, _ := star["exclude_list"].([]any)
	for _, v := range list {
		name, _ := v.(string)
		excluded[sql.LowerASCII(name)] = true
	}
	replaced, err := entries(star["replace_list"])
	if err != nil {
		return nil, err
	}
	renamed, err := entries(star["rename_list"])
	if err != nil {
		return nil, err
	}
	for _, v := range columns {
		column, _ := v.(sql.Node)
		name, _ := bareColumn(column)
		low := sql.LowerASCII(name)
		if excluded[low] {
			continue
		}
		if of, ok := replaced[low].(sql.Node); ok {
			column, _ = clone(of).(sql.Node)
			column["alias"] = name
		}
		if to, ok := renamed[low].(string); ok {
			column["alias"] = to
		}
		out = append(out, column)
	}
	return out, nil
}

// entries returns the values of REPLACE or RENAME by the names of their columns in lower case.
func entries(v any) (map[string]any, error) {
	out := map[string]any{}
	list, _ := v.([]any)
	for _, v := range list {
		entry, _ := v.(sql.Node)
		name, ok := entry["key"].(string)
		if of, isNode := entry["key"].(sql.Node); isNode {
			name, ok = of["column"].(string)
			ok = ok && len(of) == 1
		}
		if !ok {
			return nil, notSplit(causeForm, "a star with the name of a table in REPLACE or RENAME")
		}
		out[sql.LowerASCII(name)] = entry["value"]
	}
	return out, nil
}
