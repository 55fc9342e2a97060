package query

import (
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// mayReadNames tells whether errors may suggest names that a statement did not give: who may
// only write learns no names.
func mayReadNames(caller *access.Caller) bool {
	return caller.May(access.Need{Privilege: access.Select, Action: "read names"})
}

// checkDatabase requires the database to exist.
func (s *Service) checkDatabase(name string) error { return s.findDatabase(name, true) }

// findDatabase is checkDatabase for a sender who may get suggestions, or not.
func (s *Service) findDatabase(name string, suggest bool) error {
	if _, ok := s.cfg.Meta.Database(name); ok || schema.ReservedDatabase(name) {
		return nil
	}
	var names []string
	if suggest {
		names = append(names, schema.InformationDatabase, schema.PrivateDatabase)
		for _, d := range s.cfg.Meta.Databases() {
			names = append(names, d.Name)
		}
	}
	return errs.New(errs.DatabaseNotFound, "database %q does not exist%s", name, didYouMean(name, names))
}

// table finds a table of a client's.
func (s *Service) table(database, name string) (*schema.Table, error) {
	return s.findTable(database, name, true)
}

// findTable is table for a sender who may get suggestions, or not.
func (s *Service) findTable(database, name string, suggest bool) (*schema.Table, error) {
	if t, ok := s.cfg.Meta.Table(database, name); ok {
		return t, nil
	}
	if err := s.findDatabase(database, suggest); err != nil {
		return nil, err
	}
	var names []string
	if suggest {
		for _, t := range s.cfg.Meta.Tables(database) {
			names = append(names, t.Name)
		}
	}
	return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist%s", database, name, didYouMean(name, names))
}

// writable is table for a statement that changes it. System tables are refused.
func (s *Service) writable(name statement.Name, database string) (*schema.Table, error) {
	return s.findWritable(name, database, true)
}

// findWritable is writable for a sender who may get suggestions, or not.
func (s *Service) findWritable(name statement.Name, database string, suggest bool) (*schema.Table, error) {
	if name.Database != "" {
		database = name.Database
	}
	if schema.ReservedDatabase(database) {
		return nil, reserved(database)
	}
	return s.findTable(database, name.Table, suggest)
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
