// Package rows reads rows page by page: rows in the order of their time, a row by its id, and the rows around it.
//
// Rows have a total order, which is the same on every router: by time, then by a hash of their names and values, then
// by table. A page has rows in this order, and a cursor is a position in it. So no row that existed at the first page
// is repeated or missed, whatever is stored meanwhile. Rows that are equal in all three are distinguished by numbers.
//
// The memory in use depends on the size of a page (pageBytes), not on the number of rows that are read for it.
package rows

import (
	"cmp"
	"encoding/json"
	"time"

	"cordwood/router/explore/scope"
)

// MaxLimit limits the number of rows of a page.
const MaxLimit = 1000

// pageBytes limits the size of the encoded rows that are held for a page. A single row may be larger.
const pageBytes = 16 << 20

// Row is a row as clients see it.
type Row struct {
	ID    string          `json:"id"`
	Time  string          `json:"time"`
	Table string          `json:"table"`
	V     json.RawMessage `json:"v"`
	// Cut has the full length, in bytes, of each text that was shortened.
	Cut map[string]int `json:"cut,omitempty"`

	place
}

// place is the position of a row in the order of rows.
type place struct {
	at    time.Time
	hash  uint64
	table string
	// number distinguishes identical rows. It starts at 1.
	number int
}

// compare orders positions: newest first or oldest first. Identical rows are in the order of their numbers in
// both cases.
func compare(a, b place, newest bool) int {
	c := cmp.Or(a.at.Compare(b.at), cmp.Compare(a.hash, b.hash), cmp.Compare(a.table, b.table))
	if newest {
		c = -c
	}
	return cmp.Or(c, cmp.Compare(a.number, b.number))
}

// Column is a column of the rows.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Columns returns the columns of all tables of a scope, each name once.
func Columns(s *scope.Scope) []Column {
	var out []Column
	seen := map[string]bool{}
	for _, t := range s.Tables {
		for _, c := range t.Def.Columns {
			if !seen[c.Name] {
				seen[c.Name] = true
				out = append(out, Column{Name: c.Name, Type: c.Type.String()})
			}
		}
	}
	return out
}
