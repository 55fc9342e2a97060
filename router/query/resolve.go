package query

import (
	"strings"

	"cordwood/proto/errs"
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
	const most = 10000 // names looked at, so that an error costs no more than a query
	best, distance := "", max(2, len(name)/3)+1
	for i, c := range candidates {
		if i == most {
			break
		}
		if strings.EqualFold(c, name) {
			return "; did you mean \"" + c + "\"? Names are case-sensitive"
		}
		if d := editDistance(name, c, distance); d < distance {
			best, distance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean \"" + best + "\"?"
}

// editDistance is the Levenshtein distance of two names in bytes, or limit if it is
// not less.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least >= limit {
			return limit
		}
	}
	return min(row[len(b)], limit)
}
