package budget

import (
	"strings"
	"time"

	"cordwood/router/explore/scope"
)

// MaxSlices is the largest number of slices of all tables of a statement. The engine allows 50 names of tables.
const MaxSlices = 48

// maxRepeated limits the conditions that are repeated in each slice, in bytes.
const maxRepeated = 64 << 10

// Sample is a part of the rows of some tables. A statement reads Rows, or From with Condition. A nil Sample has all
// rows, and so does a Sample for a table that it does not know.
type Sample struct {
	slices map[uint64][]slice // by table id
}

// slice has the rows from a time up to another.
type slice struct{ from, to time.Time }

// NewWindows returns a sample with the rows of some windows of time, which must be in order and at most MaxSlices.
func NewWindows(t *scope.Table, windows [][2]time.Time) *Sample {
	list := make([]slice, len(windows))
	for i, w := range windows {
		list[i] = slice{w[0], w[1]}
	}
	return &Sample{slices: map[uint64][]slice{t.Def.ID: list}}
}

// Rows returns the item of a FROM clause with the rows of t that meet some conditions, and the WHERE clause. The
// conditions are in the query of each slice, because the engine then leaves out row groups by its filters.
func (s *Sample) Rows(t *scope.Table, conditions ...string) string {
	all := scope.Join(conditions...)
	if !s.united(t) || len(all)*len(s.of(t)) > maxRepeated {
		return s.From(t) + scope.WhereAll(all, s.Condition(t))
	}
	return s.union(t, all)
}

// From returns the item of a FROM clause with the rows of t. If all of them are on one shard, and there are few tables,
// each slice is a query of its own: it reads only the row groups of the slice, and compares each time only with the
// bounds of this slice. A statement for several shards must read the table by its name to be split. Then Condition
// selects the rows.
func (s *Sample) From(t *scope.Table) string {
	if !s.united(t) {
		return t.From()
	}
	return s.union(t, "TRUE")
}

// union returns a query for each slice of t.
func (s *Sample) union(t *scope.Table, condition string) string {
	list := s.of(t)
	parts := make([]string, len(list))
	for i, sl := range list {
		parts[i] = "SELECT * FROM " + t.From() + scope.WhereAll(sl.condition(t), condition)
	}
	return "(" + strings.Join(parts, " UNION ALL ") + ") AS " + scope.Ident(t.Def.Name)
}

// Condition returns the condition for the rows that From returns; TRUE: all of them.
func (s *Sample) Condition(t *scope.Table) string {
	list := s.of(t)
	if len(list) == 0 || s.united(t) {
		return "TRUE"
	}
	return within(t, list)
}

// united reports whether From returns a query for each slice of t.
func (s *Sample) united(t *scope.Table) bool {
	list := s.of(t)
	return len(list) > 1 && len(s.slices)*len(list) <= MaxSlices && len(t.Def.Shards()) <= 1
}

func (s *Sample) of(t *scope.Table) []slice {
	if s == nil {
		return nil
	}
	return s.slices[t.Def.ID]
}

func (sl slice) condition(t *scope.Table) string {
	return "(" + t.Compare(">=", sl.from) + " AND " + t.Compare("<", sl.to) + ")"
}

// within returns the condition that a row is in one of the slices. It halves the list again and again, so that a time
// is compared with few bounds.
func within(t *scope.Table, list []slice) string {
	if len(list) == 1 {
		return list[0].condition(t)
	}
	half := len(list) / 2
	middle := list[half].from
	return "((" + t.Compare("<", middle) + " AND " + within(t, list[:half]) + ") OR (" + t.Compare(">=", middle) +
		" AND " + within(t, list[half:]) + "))"
}
