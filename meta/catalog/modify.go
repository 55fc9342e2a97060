package catalog

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// Changes of a column by ALTER TABLE. The column keeps its id, and so its stored rows.

// RenameColumn renames a column. From now on, batches of writers that know only the former name are
// refused, because values under that name would belong to a new column. The options message_column
// and loki_labels are updated.
func RenameColumn(t *schemapb.Table, from, to string) error {
	c, err := needColumn(t, from)
	if err != nil {
		return err
	}
	if column(t, to) >= 0 {
		return errs.New(errs.ColumnExists, "Column `%s` already exists in table `%s`", short(to),
			schema.TableLabel(t.Database, t.Name))
	}
	if err := renameLabel(t, from, to); err != nil {
		return err
	}
	c.Name = to
	if t.Options[schema.OptionMessageColumn] == from {
		t.Options[schema.OptionMessageColumn] = to
	}
	t.MinWriterVersion = t.Version + 1
	return nil
}

// renameLabel renames a column in the option loki_labels.
func renameLabel(t *schemapb.Table, from, to string) error {
	labels := schema.LokiLabels(t.Options)
	i := slices.Index(labels, from)
	if i < 0 {
		return nil
	}
	if strings.Contains(to, ",") || strings.TrimSpace(to) != to {
		return errs.New(errs.InvalidArguments, "Column `%s` of table `%s` is in loki_labels, so its name cannot contain a "+
			"comma, and cannot begin or end with a space: remove it from loki_labels first", short(from),
			schema.TableLabel(t.Database, t.Name))
	}
	labels[i] = to
	t.Options[schema.OptionLokiLabels] = strings.Join(labels, ",")
	return nil
}

// dropLabel removes a column from the option loki_labels.
func dropLabel(t *schemapb.Table, name string) {
	labels := schema.LokiLabels(t.Options)
	left := slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return l == name })
	switch {
	case len(left) == len(labels):
	case len(left) == 0:
		delete(t.Options, schema.OptionLokiLabels)
	default:
		t.Options[schema.OptionLokiLabels] = strings.Join(left, ",")
	}
}

// ModifyColumn gives a column a type to which its type widens. If the stored integers matter and the column lacks the
// mark WithinDouble, this takes two steps. After the first, writers must clear Checking before they write an integer
// beyond the limit, and batches of writers without this definition are refused. Then the caller examines the rows.
// The second step is refused if Checking was cleared.
func ModifyColumn(t *schemapb.Table, m *metapb.ModifyColumn) (changed bool, err error) {
	p, err := needColumn(t, m.Name)
	if err != nil {
		return false, err
	}
	c, to, table := schema.ColumnFromProto(p), schema.Type(m.Type), schema.TableLabel(t.Database, t.Name)
	switch {
	case c.ID != m.Id:
		return false,
			errs.New(errs.ColumnNotFound,
				"Column `%s` of table `%s` was changed meanwhile; read the definition of the table, and try "+
					"again", short(c.Name), table)
	case c.Type == to:
		return false, nil
	case c.Semantic != schema.Field:
		return false,
			errs.New(errs.InvalidArguments,
				"Column `%s` of table `%s` is a %s: it is part of the identity of rows, so its type cannot be changed",
				short(c.Name), table, c.Semantic)
	}
	widens := c.Type.Widens(to)
	if err := checkWidening(c, to, widens, table); err != nil {
		return false, err
	}
	if widens == schema.WidensIfExact && !c.WithinDouble {
		switch {
		case m.Step == metapb.ModifyColumn_STEP_BEGIN:
			p.Checking = true
			t.MinWriterVersion = t.Version + 1
			return true, nil
		case m.Step != metapb.ModifyColumn_STEP_FINISH || !c.Checking:
			return false,
				errs.New(errs.InvalidArguments, "Column `%s` of table `%s` cannot become %s: it may have integers "+
					"beyond ±2^53, which would be rounded", short(c.Name), table, to)
		}
	}
	if x := c.Index; x != nil && x.Kind == schema.FulltextIndex {
		return false,
			errs.New(errs.InvalidArguments, "Column `%s` of table `%s` has a fulltext index, which a %s cannot have",
				short(c.Name), table, to)
	}
	made := c.WidenedTo(to).ToProto()
	p.Type, p.WithinDouble, p.Checking = made.Type, made.WithinDouble && mayMark(made), made.Checking
	return true, nil
}

// checkWidening refuses a type to which the type of a column never widens, or whose values cannot hold the default of
// the column.
func checkWidening(c schema.Column, to schema.Type, widens schema.Widening, table string) error {
	switch {
	case widens == schema.WidensNever:
		return errs.New(errs.InvalidArguments,
			"Column `%s` of table `%s` cannot become %s: not all values of type %s are values of this type", short(c.Name),
			table, to, c.Type)
	case widens == schema.WidensIfExact && !c.ExactDefault():
		return errs.New(errs.InvalidArguments,
			"Column `%s` of table `%s` cannot become %s: its default %s would be rounded", short(c.Name), table,
			to, *c.Default)
	}
	return nil
}

// ModifyIndex adds an index to a column or removes it.
func ModifyIndex(t *schemapb.Table, name string, index *schemapb.Index) (changed bool, err error) {
	c, err := needColumn(t, name)
	if err != nil {
		return false, err
	}
	if index != nil && index.Kind == schemapb.IndexKind_INDEX_KIND_FULLTEXT && schema.Type(c.Type) != schema.String {
		return false,
			errs.New(errs.InvalidArguments, "Column `%s` of table `%s` is a %s: a fulltext index needs a String",
				short(name), schema.TableLabel(t.Database, t.Name), schema.Type(c.Type))
	}
	changed = !proto.Equal(c.Index, index)
	c.Index = index
	return changed, nil
}

func needColumn(t *schemapb.Table, name string) (*schemapb.Column, error) {
	i := column(t, name)
	if i < 0 {
		return nil, errs.New(errs.ColumnNotFound, "Column `%s` not found in table `%s`", short(name),
			schema.TableLabel(t.Database, t.Name))
	}
	return t.Columns[i], nil
}
