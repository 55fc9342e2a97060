package facets

import (
	"context"
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/scope"
)

const (
	// MaxValues limits the values in an answer.
	MaxValues = 50
	// completedRows is the number of newest rows in which values are searched.
	completedRows = 2_000_000
	// maxPrefix limits the prefix, in bytes.
	maxPrefix = 1024
)

// Values returns the most frequent values of a field that start with the prefix, among the newest rows of s. whole
// reports whether s has no other rows.
func Values(ctx context.Context, s *scope.Scope, name, prefix string, limit int) (list []Value, whole bool, err error) {
	if limit < 1 || limit > MaxValues {
		return nil, false, errs.New(errs.InvalidArguments, "limit is %d: it must be from 1 to %d", limit, MaxValues)
	}
	if len(prefix) > maxPrefix {
		return nil, false, errs.New(errs.InvalidArguments, "prefix has %d bytes: at most %d are allowed", len(prefix),
			maxPrefix)
	}
	if name == "" {
		return nil, false, errs.New(errs.InvalidArguments, `field is missing: name the field, as "field":"host"`)
	}
	c := &counter{scope: s, req: &Request{Exclude: true, Top: limit}}
	f, err := c.resolve("field", name)
	if err != nil {
		return nil, false, err
	}
	extents, err := s.Extents(ctx)
	if err != nil {
		return nil, false, err
	}
	c.newest, whole = budget.Newest(s, extents, completedRows)
	if prefix != "" {
		c.begin(f, prefix)
	}
	t := &tally{most: limit}
	if err := c.group(ctx, []*field{f}, f.wheres, map[string]*tally{name: t}); err != nil {
		return nil, false, err
	}
	list = t.field(name).Values
	return slices.Clip(list), whole, nil
}

// begin adds the condition that the values of a field start with a prefix.
func (c *counter) begin(f *field, prefix string) {
	wheres := map[uint64]string{}
	for _, t := range c.scope.Tables {
		condition := t.Condition
		if f.wheres != nil {
			condition = f.wheres[t.Def.ID]
		}
		text := f.exprs[t.Def.ID]
		if col := t.Def.Column(f.name); col == nil || col.Type != schema.String {
			text = "CAST(" + text + " AS VARCHAR)"
		}
		wheres[t.Def.ID] = scope.Join(condition, "starts_with("+text+", "+scope.TextLiteral(prefix)+")")
	}
	f.wheres = wheres
}
