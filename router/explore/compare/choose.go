package compare

import (
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/fields"
	"cordwood/router/explore/roles"
)

// choose selects the fields: those in the request, or the most useful ones. unique has the fields that are left
// out.
func (c *comparer) choose(about *fields.Answer) (list []*field, unique []string, err error) {
	unique = []string{}
	names := c.req.Fields
	if names == nil {
		names = usefulFields(about)
	}
	for _, name := range names {
		f, err := c.field(name)
		if err != nil {
			return nil, nil, err
		}
		scattered := false
		if i := slices.IndexFunc(about.Fields, func(k fields.Field) bool { return k.Name == name }); i >= 0 {
			scattered = about.Fields[i].Unique > 0.5 && about.Fields[i].Fill*1000 > FewRows
			f.numbers = f.numbers && about.Fields[i].Unique > 0.05
		}
		if scattered && !f.numbers {
			unique = append(unique, name)
			continue
		}
		list = append(list, f)
	}
	return list, unique, nil
}

// usefulFields returns the names of at most MaxFields fields whose values may tell rows apart. Of a JSON column these
// are its paths.
func usefulFields(about *fields.Answer) (names []string) {
	for _, f := range about.Ranked() {
		switch {
		case f.Fill == 0 || f.Role != nil && (*f.Role == roles.Time || *f.Role == roles.Message) || f.Type == "Binary":
		case f.Type == "Json":
			for _, path := range f.JSONPaths {
				names = append(names, f.Name+"."+path)
			}
		default:
			names = append(names, f.Name)
		}
	}
	return names[:min(len(names), MaxFields)]
}

// field finds a field in the tables. At least one of them must have it.
func (c *comparer) field(name string) (*field, error) {
	f := &field{name: name, exprs: map[uint64]string{}, most: c.req.Top, numbers: true}
	found := false
	for _, t := range c.a.Tables {
		expr, typ, has, err := t.Columns.Value(name)
		switch {
		case err != nil:
			return nil, err
		case !has:
			f.exprs[t.Def.ID] = "NULL"
			continue
		case typ == schema.Binary:
			return nil, errs.New(errs.Unsupported, "fields: the values of %.100q are binary and cannot be compared", name)
		}
		found = true
		f.exprs[t.Def.ID] = expr
		f.numbers = f.numbers && (typ.IsInteger() || typ.IsFloat())
	}
	if !found {
		return nil, c.a.NoField("fields", name)
	}
	return f, nil
}
