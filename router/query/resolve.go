package query

import (
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// checkDatabase requires the database to exist.
func (s *Service) checkDatabase(name string) error {
	if _, ok := s.cfg.Meta.Database(name); ok || schema.ReservedDatabase(name) {
		return nil
	}
	names := []string{schema.InformationDatabase, schema.PrivateDatabase}
	for _, d := range s.cfg.Meta.Databases() {
		names = append(names, d.Name)
	}
	return errs.New(errs.DatabaseNotFound, "database %q does not exist%s", name, didYouMean(name, names))
}

// table finds a table of a client's.
func (s *Service) table(database, name string) (*schema.Table, error) {
	if t, ok := s.cfg.Meta.Table(database, name); ok {
		return t, nil
	}
	if err := s.checkDatabase(database); err != nil {
		return nil, err
	}
	tables := s.cfg.Meta.Tables(database)
	names := make([]string, 0, len(tables))
	for _, t := range tables {
		names = append(names, t.Name)
	}
	return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist%s", database, name, didYouMean(name, names))
}

// writable is table for a statement that changes it. System tables are refused.
func (s *Service) writable(name statement.Name, database string) (*schema.Table, error) {
	if name.Database != "" {
		database = name.Database
	}
	if schema.ReservedDatabase(database) {
		return nil, reserved(database)
	}
	return s.table(database, name.Table)
}

func reserved(database string) error {
	return errs.New(errs.Unsupported, "database %q belongs to the server and cannot be changed", database)
}

// didYouMean is the end of a sentence about a name that does not exist.
func didYouMean(name string, candidates []string) string {
	like := nearest.Name(name, candidates)
	switch {
	case like == "":
		return ""
	case strings.EqualFold(like, name):
		return `; did you mean "` + like + `"? Names are case-sensitive`
	}
	return `; did you mean "` + like + `"?`
}
