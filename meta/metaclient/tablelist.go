package metaclient

import (
	"maps"
	"slices"
	"strings"

	"cordwood/proto/schema"
)

// tableList is a sorted list of the tables of a database at the time of the last request. Databases
// have tens of thousands of tables, and clients list them by page. Sorting them each time would
// cost a hundred times as much as a page.
type tableList struct {
	list []*schema.Table
	// touched are the names whose table may have changed since.
	touched map[string]struct{}
}

// touch records that the table with this name changed.
func (s *state) touch(t *schema.Table) {
	if l := s.lists[t.Database]; l != nil {
		l.touched[t.Name] = struct{}{}
	}
}

// listed returns the list of a database if it is up to date.
func (s *state) listed(database string) ([]*schema.Table, bool) {
	l := s.lists[database]
	if l == nil || len(l.touched) > 0 {
		return nil, l == nil && s.byName[database] == nil
	}
	return l.list, true
}

// list updates the list of a database: it adds and removes the touched tables in a copy of the last
// list, which others may be reading.
func (s *state) list(database string) []*schema.Table {
	if list, ok := s.listed(database); ok {
		return list
	}
	names := s.byName[database]
	if names == nil {
		delete(s.lists, database)
		return nil
	}
	l := s.lists[database]
	if l == nil {
		l = &tableList{touched: map[string]struct{}{}}
		for name := range names {
			l.touched[name] = struct{}{}
		}
		s.lists[database] = l
	}
	out := make([]*schema.Table, 0, len(names))
	rest := l.list
	for _, name := range slices.Sorted(maps.Keys(l.touched)) {
		at, found := slices.BinarySearchFunc(rest, name, func(t *schema.Table, name string) int {
			return strings.Compare(t.Name, name)
		})
		out = append(out, rest[:at]...)
		if rest = rest[at:]; found {
			rest = rest[1:]
		}
		if e, ok := names[name]; ok {
			out = append(out, e.table)
		}
	}
	l.list = append(out, rest...)
	clear(l.touched)
	return l.list
}
