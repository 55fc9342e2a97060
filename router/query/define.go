package query

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// change executes a statement that answers with a count.
func (s *Service) change(ctx context.Context, st statement.Statement, req *Request) (res Result, err error) {
	database := req.Database
	var cmd *metapb.Command
	switch st := st.(type) {
	case *statement.Insert:
		return s.insert(ctx, st, req)
	case *statement.Delete:
		res.AffectedRows, err = s.delete(ctx, st, req)
		return res, err
	case *statement.CreateDatabase:
		cmd, err = s.createDatabase(st)
	case *statement.AlterDatabase:
		cmd, err = s.alterDatabase(st)
	case *statement.DropDatabase:
		cmd, err = s.dropDatabase(st)
	case *statement.CreateTable:
		cmd, err = s.createTable(st, database)
	case *statement.AlterTable:
		if st.Modify != nil && st.Modify.Type != "" {
			return res, s.modifyType(ctx, st, database)
		}
		cmd, err = s.alterTable(st, database)
	case *statement.DropTable:
		cmd, err = s.dropTable(st, database)
	case *statement.TruncateTable:
		cmd, err = s.truncateTable(st, database)
	default:
		err = errs.New(errs.Unexpected, "statement %T is not known", st)
	}
	if err != nil || cmd == nil {
		return res, err
	}
	cmd.TimeUnixNano = s.cfg.Now().UnixNano()
	_, err = s.cfg.Meta.Propose(ctx, cmd)
	return res, err
}

func (s *Service) createDatabase(st *statement.CreateDatabase) (*metapb.Command, error) {
	if schema.ReservedDatabase(st.Database) {
		if st.IfNotExists {
			return nil, nil
		}
		return nil, errs.New(errs.DatabaseAlreadyExists, "database %q exists already; it belongs to the server", st.Database)
	}
	if err := schema.CheckDatabaseName(st.Database); err != nil {
		return nil, err
	}
	options, err := databaseOptions(st.Options)
	if err != nil {
		return nil, err
	}
	return &metapb.Command{Op: &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{
		Name: st.Database, IfNotExists: st.IfNotExists, Options: options,
	}}}, nil
}

// databaseOptions checks the options of a database, of which there is one.
func databaseOptions(list []statement.Option) (map[string]string, error) {
	options, err := optionMap(list)
	if err != nil {
		return nil, err
	}
	for key, value := range options {
		if key != schema.OptionTTL {
			return nil, noDatabaseOption(key)
		}
		if options[key], err = schema.DatabaseTTL(value); err != nil {
			return nil, err
		}
	}
	return options, nil
}

func noDatabaseOption(key string) error {
	return errs.New(errs.InvalidArguments, "unknown option %q; a database has the option ttl only", key)
}

func (s *Service) alterDatabase(st *statement.AlterDatabase) (*metapb.Command, error) {
	if schema.ReservedDatabase(st.Database) {
		return nil, reserved(st.Database)
	}
	if err := s.checkDatabase(st.Database); err != nil {
		return nil, err
	}
	a := &metapb.AlterDatabase{Name: st.Database}
	var err error
	if a.Set, err = databaseOptions(st.Set); err != nil {
		return nil, err
	}
	for _, key := range st.Unset {
		if optionKey(key) != schema.OptionTTL {
			return nil, noDatabaseOption(key)
		}
		a.Unset = append(a.Unset, schema.OptionTTL)
	}
	return &metapb.Command{Op: &metapb.Command_AlterDatabase{AlterDatabase: a}}, nil
}

func (s *Service) dropDatabase(st *statement.DropDatabase) (*metapb.Command, error) {
	if schema.ReservedDatabase(st.Database) {
		return nil, reserved(st.Database)
	}
	return &metapb.Command{Op: &metapb.Command_DropDatabase{DropDatabase: &metapb.DropDatabase{
		Name: st.Database, IfExists: st.IfExists, Cascade: st.Cascade,
	}}}, nil
}

// target resolves the database of a table to be created, which must exist.
func (s *Service) target(name statement.Name, database string) (string, error) {
	if name.Database != "" {
		database = name.Database
	}
	if schema.ReservedDatabase(database) {
		return "", reserved(database)
	}
	return database, s.checkDatabase(database)
}

func (s *Service) createTable(st *statement.CreateTable, database string) (*metapb.Command, error) {
	database, err := s.target(st.Name, database)
	if err != nil {
		return nil, err
	}
	if err := schema.CheckTableName(st.Name.Table); err != nil {
		return nil, err
	}
	if len(st.Columns) > s.cfg.MaxColumns {
		return nil, errs.New(errs.InvalidArguments, "CREATE TABLE %s: %d columns are more than the %d that a table can have",
			st.Name.Table, len(st.Columns), s.cfg.MaxColumns)
	}
	t := &schema.Table{Database: database, Name: st.Name.Table}
	if t.Columns, err = tableColumns(st); err != nil {
		return nil, err
	}
	options, err := optionMap(st.Options)
	if err != nil {
		return nil, err
	}
	if t.Options, err = schema.StoredOptions(options, false); err != nil {
		return nil, err
	}
	if t.Options[schema.OptionAppendMode] == "" {
		// Without a primary key, rows of the same time are different rows.
		t.Options[schema.OptionAppendMode] = strconv.FormatBool(len(t.Tags()) == 0)
	}
	return &metapb.Command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{
		Table: t.ToProto(), IfNotExists: st.IfNotExists,
	}}}, nil
}

// warnings are what a statement does, if it is carried out, that its author may not expect.
func (s *Service) warnings(st statement.Statement, database string) []string {
	switch st := st.(type) {
	case *statement.CreateTable:
		return s.mergeWarnings(st, database)
	case *statement.AlterTable:
		if t, err := s.writable(st.Name, database); err == nil {
			if st.Add != nil {
				return defaultWarnings(t, st.Add)
			}
			if st.Modify != nil {
				return indexWarnings(t, st.Modify)
			}
			if t.AppendMode() && optionGiven(st.Set, schema.OptionMergeMode) {
				return []string{fmt.Sprintf(noMerging, "table "+t.Database+"."+t.Name)}
			}
			own, of := t.Options[schema.OptionTTL], s.databaseTTL(t.Database)
			return expiryWarnings(s.ttl(t), schema.EffectiveTTL(changedTTL(own, st.Set, st.Unset), of), "table "+t.Database+"."+t.Name)
		}
	case *statement.AlterDatabase:
		own := s.databaseTTL(st.Database)
		return expiryWarnings(schema.EffectiveTTL("", own), schema.EffectiveTTL("", changedTTL(own, st.Set, st.Unset)),
			"the tables of database "+st.Database+" without a ttl of their own")
	}
	return nil
}

// changedTTL is what a text of the option ttl becomes.
func changedTTL(text string, set []statement.Option, unset []string) string {
	for _, o := range set {
		if optionKey(o.Key) == schema.OptionTTL {
			text = o.Value
		}
	}
	if slices.ContainsFunc(unset, func(key string) bool { return optionKey(key) == schema.OptionTTL }) {
		return ""
	}
	return text
}

// noMerging is the warning about a merge_mode that has no effect.
const noMerging = "%s keeps all rows (append_mode='true'), so its merge_mode has no effect; only a table that is made with append_mode='false' merges rows"

func optionGiven(list []statement.Option, name string) bool {
	return slices.ContainsFunc(list, func(o statement.Option) bool { return optionKey(o.Key) == name })
}

// expiryWarnings says what another ttl makes of the rows that are stored.
func expiryWarnings(before, after schema.TTL, of string) []string {
	const sometime = 1_000_000_000 // any moment does
	limit, expire := after.ExpiredBefore(time.Unix(sometime, 0), schema.TimestampSecond)
	old, did := before.ExpiredBefore(time.Unix(sometime, 0), schema.TimestampSecond)
	switch {
	case after.Instant && !before.Instant:
		return []string{fmt.Sprintf("rows of %s that are written from now on are thrown away (ttl 'instant'); those that are stored stay", of)}
	case expire && (!did || old < limit):
		return []string{fmt.Sprintf("rows of %s that are older than %s have expired: no query shows them, and they are deleted soon", of, after)}
	case did && (!expire || limit < old) && !after.Instant:
		return []string{fmt.Sprintf("rows of %s that are older than %s had expired: those that were deleted since do not come back, the others are shown again", of, before)}
	}
	return nil
}

// mergeWarnings says that a table merges rows, if its definition does not.
func (s *Service) mergeWarnings(table *statement.CreateTable, database string) []string {
	if table.IfNotExists {
		if _, err := s.writable(table.Name, database); err == nil {
			return nil // and stays as it is
		}
	}
	columns, err := tableColumns(table)
	if optionGiven(table.Options, schema.OptionMergeMode) && s.appends(table, database) {
		return []string{fmt.Sprintf(noMerging, "the table")}
	}
	if err != nil || !slices.ContainsFunc(columns, func(c schema.Column) bool { return c.Semantic == schema.Tag }) {
		return nil
	}
	if optionGiven(table.Options, schema.OptionAppendMode) || optionGiven(table.Options, schema.OptionMergeMode) {
		return nil
	}
	return []string{"the table merges rows: of those with the same primary key and time it shows the last one; WITH (append_mode='true') keeps all"}
}

// appends tells whether the table that a statement makes keeps all rows.
func (s *Service) appends(st *statement.CreateTable, database string) bool {
	cmd, err := s.createTable(st, database)
	return err == nil && cmd.GetCreateTable().GetTable().GetOptions()[schema.OptionAppendMode] == "true"
}

// tableColumns checks the columns and clauses of CREATE TABLE against each other.
func tableColumns(st *statement.CreateTable) ([]schema.Column, error) {
	bad := func(format string, args ...any) error {
		return errs.New(errs.InvalidArguments, "CREATE TABLE "+st.Name.Table+": "+format, args...)
	}
	columns := make([]schema.Column, 0, len(st.Columns))
	at := make(map[string]int, len(st.Columns))
	index := st.TimeIndex
	keys := slices.Clone(st.PrimaryKey)
	inline := 0
	for i, def := range st.Columns {
		if _, twice := at[def.Name]; twice {
			return nil, errs.New(errs.ColumnExists, "CREATE TABLE %s: column %q is defined twice", st.Name.Table, def.Name)
		}
		at[def.Name] = i
		c, err := newColumn(&def)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
		if def.TimeIndex {
			index = append(index, def.Name)
		}
		if def.PrimaryKey {
			inline++
			keys = append(keys, def.Name)
		}
	}
	if inline > 1 || inline == 1 && len(st.PrimaryKey) > 0 {
		return nil, bad("PRIMARY KEY is given more than once; write one clause for all columns of the key: PRIMARY KEY (a, b)")
	}
	switch {
	case len(index) == 0:
		return nil, bad("a table needs a time index; add TIME INDEX (column) for one of its TIMESTAMP columns")
	case len(index) > 1:
		return nil, bad("a table has exactly one time index, not %s", strings.Join(index, " and "))
	}
	i, ok := at[index[0]]
	if !ok {
		return nil, errs.New(errs.ColumnNotFound, "CREATE TABLE %s: TIME INDEX names the column %q, which is not defined", st.Name.Table, index[0])
	}
	c := &columns[i]
	switch {
	case !c.Type.IsTimestamp():
		return nil, bad("the time index %q is of type %s; it must be a TIMESTAMP", c.Name, c.Type)
	case st.Columns[i].Null:
		return nil, bad("the time index %q cannot be NULL", c.Name)
	}
	c.Semantic, c.NotNull = schema.Timestamp, true
	for _, key := range keys {
		i, ok := at[key]
		if !ok {
			return nil, errs.New(errs.ColumnNotFound, "CREATE TABLE %s: PRIMARY KEY names the column %q, which is not defined", st.Name.Table, key)
		}
		switch columns[i].Semantic {
		case schema.Timestamp:
			return nil, bad("%q is the time index, which is part of a row's identity anyway; leave it out of PRIMARY KEY", key)
		case schema.Tag:
			return nil, bad("PRIMARY KEY names %q twice", key)
		}
		columns[i].Semantic = schema.Tag
	}
	return columns, nil
}

// newColumn checks a column by itself.
func newColumn(def *statement.ColumnDef) (schema.Column, error) {
	if err := schema.CheckColumnName(def.Name); err != nil {
		return schema.Column{}, err
	}
	typ, err := schema.ParseType(def.Type)
	if err != nil {
		return schema.Column{}, errs.Wrap(errs.InvalidSyntax, err, "column %q", def.Name)
	}
	if def.Null && def.NotNull {
		return schema.Column{}, errs.New(errs.InvalidSyntax, "column %q: NULL and NOT NULL exclude each other", def.Name)
	}
	c := schema.Column{Name: def.Name, Type: typ, Semantic: schema.Field, NotNull: def.NotNull}
	if def.NotNull && def.Default != nil && def.Default.Kind == statement.Null {
		return schema.Column{}, errs.New(errs.InvalidArguments, "column %q: NOT NULL and DEFAULT NULL exclude each other", def.Name)
	}
	if def.Default != nil && def.Default.Kind != statement.Null {
		text, err := defaultLiteral(*def.Default, typ)
		if err != nil {
			return schema.Column{}, errs.Wrap(errs.InvalidArguments, err, "column %q: DEFAULT %s", def.Name, def.Default.SQL())
		}
		c.Default = &text
	}
	if def.Index != nil {
		if c.Index, err = newIndex(def.Index, typ); err != nil {
			return schema.Column{}, errs.Wrap(errs.InvalidArguments, err, "column %q", def.Name)
		}
	}
	return c, nil
}

// newIndex makes the index of a column of type t.
func newIndex(def *statement.IndexDef, t schema.Type) (*schema.Index, error) {
	kind, ok := schema.ParseIndexKind(def.Kind)
	if !ok {
		return nil, errs.New(errs.InvalidSyntax, "%s INDEX is not known", def.Kind)
	}
	options := make(map[string]string, len(def.Options))
	for _, o := range def.Options {
		key := strings.ToLower(o.Key)
		if _, twice := options[key]; twice {
			return nil, errs.New(errs.InvalidArguments, "option %s is given twice", key)
		}
		options[key] = o.Value
	}
	return schema.NewIndex(kind, t, options)
}

// optionMap turns options as written into options by name. Their values are checked later.
func optionMap(list []statement.Option) (map[string]string, error) {
	options := make(map[string]string, len(list))
	for _, o := range list {
		key := optionKey(o.Key)
		if _, twice := options[key]; twice {
			return nil, errs.New(errs.InvalidArguments, "option %s is given twice", key)
		}
		options[key] = o.Value
	}
	return options, nil
}

// optionKey is the option's own name, or key itself if there is no such option.
func optionKey(key string) string {
	if name, ok := schema.OptionName(strings.ToLower(key)); ok {
		return name
	}
	return key
}

func (s *Service) dropTable(st *statement.DropTable, database string) (*metapb.Command, error) {
	t, err := s.writable(st.Name, database)
	switch code := errs.CodeOf(err); {
	case st.IfExists && (code == errs.TableNotFound || code == errs.DatabaseNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &metapb.Command{Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{
		Database: t.Database, Name: t.Name, IfExists: st.IfExists,
	}}}, nil
}

func (s *Service) truncateTable(st *statement.TruncateTable, database string) (*metapb.Command, error) {
	t, err := s.writable(st.Name, database)
	if err != nil {
		return nil, err
	}
	return &metapb.Command{Op: &metapb.Command_TruncateTable{TruncateTable: &metapb.TruncateTable{
		Database: t.Database, Name: t.Name,
	}}}, nil
}
