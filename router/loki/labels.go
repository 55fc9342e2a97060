package loki

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/errs"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
	"cordwood/router/loki/translate"
	"cordwood/router/query/format"
)

// texts calls each with the strings of each row of string columns. A null is passed as an empty string.
func texts(rec arrow.RecordBatch, each func(row []string)) error {
	read := make([]func(int) string, rec.NumCols())
	for i := range read {
		column := rec.Column(i)
		if read[i] = format.Text(column); read[i] == nil && column.DataType().ID() != arrow.NULL {
			return errs.New(errs.Internal, "read texts: column %d has type %s", i, column.DataType())
		}
	}
	row := make([]string, len(read))
	for n := range int(rec.NumRows()) {
		for i := range read {
			row[i] = ""
			if read[i] != nil && !format.IsNull(rec.Column(i), n) {
				row[i] = strings.Clone(read[i](n))
			}
		}
		each(row)
	}
	return nil
}

// LabelNames returns the sorted names of the labels that the entries of a selection have.
func (r *Reader) LabelNames(ctx context.Context, q *logql.Log, span Span) ([]string, error) {
	tables, err := r.tables(ctx, q.Matchers)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, t := range tables {
		compiled, err := t.Compile(&logql.Log{Matchers: q.Matchers})
		if err != nil {
			return nil, err
		}
		columns := []string{"max(" + t.Time() + ") IS NOT NULL"}
		for _, c := range t.Labels {
			columns = append(columns, "coalesce(max("+translate.CastText(c.Def)+"), '') <> ''")
		}
		for i := range columns {
			columns[i] = "CAST(" + columns[i] + " AS VARCHAR)"
		}
		sql := "SELECT " + strings.Join(columns, ", ") + " FROM " + t.From() + where(within(t, span), compiled.Where())
		err = r.run(ctx, sql, func(_ context.Context, rec arrow.RecordBatch) error {
			return texts(rec, func(row []string) {
				if row[0] != "true" {
					return
				}
				names[translate.TableLabel], names[translate.ServiceLabel] = true, true
				for i, c := range t.Labels {
					if row[i+1] == "true" {
						names[c.Label] = true
					}
				}
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// LabelValues returns the values of a label, sorted.
func (r *Reader) LabelValues(ctx context.Context, name string, q *logql.Log, span Span) ([]string, error) {
	sets, err := r.sets(ctx, q, span, func(t *translate.Table) []string {
		if !t.IsLabel(name) {
			return nil
		}
		return []string{name}
	})
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(sets))
	for _, s := range sets {
		if v := s[name]; v != "" {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Series returns the label sets of the entries that meet one of the selectors.
func (r *Reader) Series(ctx context.Context, selectors []*logql.Log, span Span) ([]map[string]string, error) {
	seen := map[string]bool{}
	var out []map[string]string
	for _, q := range selectors {
		sets, err := r.sets(ctx, q, span, func(t *translate.Table) []string { return t.LabelNames() })
		if err != nil {
			return nil, err
		}
		for _, s := range sets {
			if key := series.Key(s); !seen[key] && len(out) < MaxNames {
				seen[key] = true
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// sets returns the distinct label sets of a selector's entries. names returns the labels to include for a table, or nil
// if the table has none of them.
func (r *Reader) sets(ctx context.Context, q *logql.Log, span Span, names func(*translate.Table) []string,
) ([]map[string]string, error) {
	tables, err := r.tables(ctx, q.Matchers)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []map[string]string
	for _, t := range tables {
		labels := names(t)
		if labels == nil {
			continue
		}
		compiled, err := t.Compile(&logql.Log{Matchers: q.Matchers})
		if err != nil {
			return nil, err
		}
		columns, setOf, err := setColumns(t, compiled, labels)
		if err != nil {
			return nil, err
		}
		sql := "SELECT DISTINCT " + strings.Join(columns, ", ") + " FROM " + t.From() +
			where(within(t, span), compiled.Where()) + limitOf(MaxNames)
		err = r.run(ctx, sql, func(_ context.Context, rec arrow.RecordBatch) error {
			return texts(rec, func(row []string) {
				set := setOf(row)
				if key := series.Key(set); len(set) > 0 && !seen[key] && len(out) < MaxNames {
					seen[key] = true
					out = append(out, set)
				}
			})
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b map[string]string) int { return strings.Compare(series.Key(a), series.Key(b)) })
	return out, nil
}

// setColumns returns the columns that are read for label sets, and a function that makes a set of the texts of a row.
// Where it can, it reads plain columns, which the engine groups by their codes, and computes labels from them here.
func setColumns(t *translate.Table, q *translate.Query, labels []string,
) (columns []string, setOf func(row []string) map[string]string, err error) {
	needed := t.Needed(labels)
	if len(labels) == 1 && len(needed) != 1 { // different rows may have the same value, and the number of rows is limited
		sql, err := q.Label(labels[0])
		return []string{sql}, func(row []string) map[string]string {
			if row[0] == "" {
				return nil
			}
			return map[string]string{labels[0]: row[0]}
		}, err
	}
	for _, c := range needed {
		columns = append(columns, translate.CastText(c.Def))
	}
	if len(columns) == 0 {
		columns = append(columns, "''")
	}
	return columns, func(row []string) map[string]string {
		all := map[string]string{translate.TableLabel: t.Def.Name}
		for i, c := range needed {
			all[c.Label] = row[i]
		}
		if all[translate.ServiceLabel] == "" {
			all[translate.ServiceLabel] = t.ServiceOf(all)
		}
		set := map[string]string{}
		for _, name := range labels {
			if v := all[name]; v != "" {
				set[name] = v
			}
		}
		return set
	}, nil
}
