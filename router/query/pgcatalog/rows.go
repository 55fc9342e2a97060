package pgcatalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/schema"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// list formats numbers as a list.
func list(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// same returns a list that repeats one number.
func same(n, times int) []int { return slices.Repeat([]int{n}, times) }

// schemas returns all schemas: databases, and pg_catalog.
func (s *Source) schemas() []string {
	all := slices.Clone(s.Databases)
	if !slices.Contains(all, Database) {
		all = append(all, Database)
	}
	slices.Sort(all)
	return all
}

// each calls f for each table, including the server's own.
func (s *Source) each(f func(t *schema.Table)) {
	for _, d := range s.Databases {
		for _, t := range s.Tables(d) {
			f(t)
		}
	}
	for _, t := range s.System {
		f(t)
	}
}

// eachSeen calls f for each table on which the user has any privilege, including the server's own. readable is false if
// the user may know the name only.
func (s *Source) eachSeen(f func(t *schema.Table, readable bool)) {
	for _, d := range s.Databases {
		readable := map[uint64]bool{}
		for _, t := range s.Tables(d) {
			readable[t.ID] = true
			f(t, true)
		}
		for _, t := range s.Seen(d) {
			if !readable[t.ID] {
				f(t, false)
			}
		}
	}
	for _, t := range s.System {
		f(t, true)
	}
}

func namespaceRows(s *Source, add func(...any)) error {
	for _, name := range s.schemas() {
		add(s.SchemaOID(name), name, OwnerOID, nil)
	}
	return nil
}

// catalogs returns the names of PostgreSQL's databases: the session's database, and all databases of cordwood.
func (s *Source) catalogs() []string {
	var all []string
	for _, d := range s.Databases {
		if !schema.ReservedDatabase(d) {
			all = append(all, d)
		}
	}
	if s.Catalog != "" && !slices.Contains(all, s.Catalog) {
		all = append(all, s.Catalog)
	}
	return all
}

// catalogOID returns the OID of one of PostgreSQL's databases.
func (s *Source) catalogOID(name string) int64 {
	if oid := s.SchemaOID(name); oid != 0 {
		return oid
	}
	return 5
}

func databaseRows(s *Source, add func(...any)) error {
	for _, name := range s.catalogs() {
		add(s.catalogOID(name), name, OwnerOID, 6, "c", false, true, -1, 0, 1, 1663, "C.UTF-8", "C.UTF-8", nil, nil, nil)
	}
	return nil
}

func classRows(s *Source, add func(...any)) error {
	row := func(oid int64, name string, ns, am int64, kind string, columns int, index bool) {
		if !s.wants("oid", oid) {
			return
		}
		add(oid, name, ns, 0, 0, OwnerOID, am, 0, 0, 0, -1, 0, 0, index, false, "p", kind, columns, 0, false, false, false,
			false, false, true, "d", false, 0, 0, 0, nil, nil, nil)
	}
	s.eachSeen(func(t *schema.Table, readable bool) {
		kind, am := "r", int64(2)
		if t.ID >= 1<<62 {
			kind, am = "v", 0
		}
		if !readable {
			row(TableOID(t), t.Name, s.SchemaOID(t.Database), am, kind, 0, false)
			return
		}
		key := keyOf(t)
		row(TableOID(t), t.Name, s.SchemaOID(t.Database), am, kind, len(t.Columns), key != nil)
		if key != nil {
			row(indexOID(t), t.Name+"_pkey", s.SchemaOID(t.Database), 403, "i", len(key), false)
		}
	})
	for _, t := range Tables {
		row(t.OID, t.Name, 11, 0, "v", len(t.Columns), false)
	}
	return nil
}

func attributeRows(s *Source, add func(...any)) error {
	row := func(rel int64, name string, typ int64, mod, num int, notNull, hasDefault bool) {
		length, ok := lengths[typ]
		if !ok {
			length = -1
		}
		add(rel, name, typ, -1, length, num, 0, -1, mod, length > 0 && length <= 8, "i", "p", "", notNull, hasDefault,
			false, "", "", false, true, 0, collationOf(typ), nil, nil, nil, nil)
	}
	s.each(func(t *schema.Table) {
		for i, c := range t.Columns {
			if !s.wants("attrelid", TableOID(t)) {
				break
			}
			typ, mod := typeOf(c.Type)
			row(TableOID(t), c.Name, typ, mod, i+1, c.NotNull || c.Semantic == schema.Timestamp, c.Default != nil)
		}
		if !s.wants("attrelid", indexOID(t)) {
			return
		}
		for i, n := range keyOf(t) {
			c := t.Columns[n-1]
			typ, mod := typeOf(c.Type)
			row(indexOID(t), c.Name, typ, mod, i+1, false, false)
		}
	})
	for _, t := range Tables {
		if !s.wants("attrelid", t.OID) {
			continue
		}
		for i, c := range t.Columns {
			row(t.OID, c.Name, catalogTypes[c.Type], -1, i+1, false, false)
		}
	}
	return nil
}

// collationOf returns the collation of a type. Text types have the default collation.
func collationOf(typ int64) int64 {
	switch typ {
	case 25, 1042, 1043, 1009:
		return 100
	case 19:
		return 950
	}
	return 0
}

func indexRows(s *Source, add func(...any)) error {
	s.each(func(t *schema.Table) {
		if key := keyOf(t); key != nil && s.wants("indrelid", TableOID(t)) && s.wants("indexrelid", indexOID(t)) {
			n := len(key)
			add(indexOID(t), TableOID(t), n, n, true, false, true, false, true, false, true, false, true, true, false,
				list(key), list(same(0, n)), list(same(0, n)), list(same(0, n)), nil, nil)
		}
	})
	return nil
}

func constraintRows(s *Source, add func(...any)) error {
	s.each(func(t *schema.Table) {
		if key := keyOf(t); key != nil && s.wants("conrelid", TableOID(t)) {
			add(indexOID(t)+1<<27, t.Name+"_pkey", s.SchemaOID(t.Database), "p", false, false, true, TableOID(t), 0,
				indexOID(t), 0, 0, " ", " ", " ", true, 0, true, list(key), nil, nil, nil, nil, nil, nil, nil)
		}
	})
	return nil
}

// definitionRows adds the texts of indexes and constraints, for functions.
func definitionRows(s *Source, add func(...any)) error {
	s.each(func(t *schema.Table) {
		key := keyOf(t)
		if key == nil {
			return
		}
		names := make([]string, len(key))
		for i, n := range key {
			names[i] = schema.QuoteIdent(t.Columns[n-1].Name)
		}
		columns := "(" + strings.Join(names, ", ") + ")"
		add(indexOID(t), fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s.%s USING btree %s", schema.QuoteIdent(t.Name+"_pkey"),
			schema.QuoteIdent(t.Database), schema.QuoteIdent(t.Name), columns))
		add(indexOID(t)+1<<27, "PRIMARY KEY "+columns)
	})
	return nil
}

// sizeRows adds the sizes of tables, for functions.
func sizeRows(s *Source, add func(...any)) error {
	sizes, err := s.Sizes()
	if err != nil {
		return err
	}
	s.each(func(t *schema.Table) {
		if size, ok := sizes[t.ID]; ok {
			add(TableOID(t), size.Rows, size.Bytes)
		}
	})
	return nil
}

func attrdefRows(s *Source, add func(...any)) error {
	s.each(func(t *schema.Table) {
		for i, c := range t.Columns {
			if c.Default != nil {
				add(TableOID(t)+int64(i)<<40, TableOID(t), i+1, *c.Default)
			}
		}
	})
	return nil
}

func descriptionRows(s *Source, add func(...any)) error {
	s.each(func(t *schema.Table) {
		if text := t.Options[schema.OptionComment]; text != "" {
			add(TableOID(t), 1259, 0, text)
		}
	})
	return nil
}

func typeRows(_ *Source, add func(...any)) error {
	for _, t := range Types {
		kind, delim := "b", ","
		if t.Category == "P" {
			kind = "p"
		}
		elem := int64(0)
		switch t.Name {
		case "int2vector":
			elem = 21
		case "oidvector":
			elem = 26
		case "name":
			elem = 18
		}
		byValue := t.Len > 0 && t.Len <= 8
		add(t.OID, t.Name, 11, OwnerOID, t.Len, byValue, kind, t.Category, t.Category == "B" || t.Name == "text", true,
			delim, 0, "-", elem, t.Array, t.function("in"), t.function("out"), t.function("recv"), t.function("send"), "-",
			"-", "-", "i", "p", false, 0, -1, 0, collationOf(t.OID), nil, nil, nil)
		if t.Array != 0 {
			add(t.Array, "_"+t.Name, 11, OwnerOID, -1, false, "b", "A", false, true, delim, 0, "array_subscript_handler",
				t.OID, 0, "array_in", "array_out", "array_recv", "array_send", "-", "-", "array_typanalyze", "i", "x", false, 0,
				-1, 0, collationOf(t.OID), nil, nil, nil)
		}
	}
	return nil
}

// functions are the functions that clients look up in pg_proc: those of named, and those that read and write values of
// types. Ruby's pg, for example, knows only types whose functions are there.
var functions = func() []string {
	list := slices.Clone(named)
	for _, t := range Types {
		for _, what := range []string{"in", "out", "recv", "send"} {
			if name := t.function(what); name != "-" {
				list = append(list, name)
			}
		}
	}
	return list
}()

var named = []string{
	"array_in", "array_out", "array_recv", "array_send", "now", "count", "sum", "avg", "min", "max", "lower", "upper",
	"length", "coalesce", "date_trunc", "time_bucket", "matches", "matches_term", "version", "current_schema",
	"current_database", "current_setting", "generate_series", "unnest", "regexp_replace", "strftime", "epoch_ns",
}

// FunctionOID returns the OID of a function, or 0 if the function is not in the list.
func FunctionOID(name string) int64 {
	if i := slices.Index(functions, name); i >= 0 {
		return 750 + int64(i)
	}
	return 0
}

func procRows(_ *Source, add func(...any)) error {
	for i, name := range functions {
		kind := "f"
		if slices.Contains([]string{"count", "sum", "avg", "min", "max"}, name) {
			kind = "a"
		}
		add(750+int64(i), name, 11, OwnerOID, 12, 1, 0, 0, "-", kind, false, false, false, false, "s", "s", 0, 0, 25, "[]",
			nil, nil, nil, nil, nil, "", nil, nil, nil, nil)
	}
	return nil
}

// users returns the users that the user may know, without the owner.
func (s *Source) users() []string {
	names := slices.DeleteFunc(append(slices.Clone(s.Users), s.User), func(n string) bool { return n == "" || n == Owner })
	slices.Sort(names)
	return slices.Compact(names)
}

// activityRows has the sessions of this node.
func activityRows(s *Source, add func(...any)) error {
	for _, one := range s.Sessions {
		oid := s.catalogOID(one.Database)
		var began, text any
		if one.QueryUnixNano != 0 {
			began, text = one.QueryUnixNano, one.Query
		}
		add(oid, one.Database, int64(one.Pid), nil, UserOID(one.Principal), one.Principal, one.ApplicationName, one.Address,
			nil, nil, one.SinceUnixNano, nil, began, nil, nil, nil, one.State, nil, nil, nil, text, "client backend")
	}
	return nil
}

func roleRows(s *Source, add func(...any)) error {
	row := func(oid int64, name string, login bool) {
		add(name, false, true, false, false, login, false, -1, "********", nil, false, nil, oid)
	}
	row(OwnerOID, Owner, true)
	users := s.users()
	for _, name := range users {
		row(UserOID(name), name, true)
	}
	for _, h := range s.Holders() {
		if h.OID != PublicRole && h.OID != CurrentRole && h.Name != Owner && !slices.Contains(users, h.Name) {
			row(h.OID, h.Name, false)
		}
	}
	return nil
}

func userRows(s *Source, add func(...any)) error {
	return roleRows(s, func(v ...any) {
		if login, _ := v[5].(bool); login {
			add(v[0], v[12], false, false, false, false, "********", nil, nil)
		}
	})
}

func authidRows(s *Source, add func(...any)) error {
	return roleRows(s, func(v ...any) {
		add(v[12], v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[10], v[7], nil, nil)
	})
}

func tableViewRows(s *Source, add func(...any)) error {
	s.eachSeen(func(t *schema.Table, readable bool) {
		if t.ID < 1<<62 {
			add(t.Database, t.Name, Owner, nil, readable && keyOf(t) != nil, false, false, false)
		}
	})
	return nil
}

func indexViewRows(s *Source, add func(...any)) error {
	defs := map[int64]string{}
	_ = definitionRows(s, func(v ...any) { defs[v[0].(int64)] = v[1].(string) }) // it never fails
	s.each(func(t *schema.Table) {
		if keyOf(t) != nil {
			add(t.Database, t.Name, t.Name+"_pkey", nil, defs[indexOID(t)])
		}
	})
	return nil
}

func statRows(s *Source, add func(...any)) error {
	sizes, err := s.Sizes()
	if err != nil {
		return err
	}
	s.each(func(t *schema.Table) {
		if t.ID < 1<<62 {
			add(TableOID(t), t.Database, t.Name, 0, 0, nil, nil, 0, 0, 0, 0, sizes[t.ID].Rows, 0)
		}
	})
	return nil
}

// fixedRows returns rows that are always the same.
func fixedRows(rows ...[]any) func(*Source, func(...any)) error {
	return func(_ *Source, add func(...any)) error {
		for _, r := range rows {
			add(r...)
		}
		return nil
	}
}
