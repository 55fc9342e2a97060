// Package scope resolves which rows a request of the page for logs concerns: the tables, the time, the search text
// and the condition. It finds the tables and converts the rest to SQL. Package query runs the SQL like that of
// clients, with the same rights, limits and queues.
//
// A Scope belongs to one request. It records what is missing in the answers to its queries.
package scope

import (
	"context"
	"time"

	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
	"cordwood/router/query"
)

// Source finds tables and runs SQL. *query.Service implements it.
type Source interface {
	Table(ctx context.Context, database, name string) (*schema.Table, error)
	Tables(ctx context.Context, database string) ([]*schema.Table, error)
	CheckCondition(ctx context.Context, database, where string) error
	Extents(ctx context.Context, tables []*schema.Table) (map[uint64]*query.Extent, error)
	Execute(ctx context.Context, req query.Request, each func(context.Context, query.Result) error) error
}

// MaxTables limits the number of tables of a scope.
const MaxTables = 32

// Request is a scope as clients write it.
type Request struct {
	// DB is the database; empty means public.
	DB string `json:"db"`
	// Tables are names, or patterns with stars.
	Tables []string `json:"tables"`
	// From and To are times in RFC 3339, or negative durations relative to now; nil means from the first row, and up
	// to now.
	From *string `json:"from"`
	To   *string `json:"to"`
	// Query is a search text and Where an SQL condition. Both must hold.
	Query string `json:"query"`
	Where string `json:"where"`
	// Chosen has the columns that the user chose for the message and the level.
	roles.Chosen
	// AllowPartial leaves out rows that cannot be read.
	AllowPartial bool `json:"allow_partial"`
	// Consistency is linear or any, with the same meaning as for SQL; empty means linear.
	Consistency string `json:"consistency"`
	// Exact forbids estimates.
	Exact bool `json:"exact"`
	// BudgetMillis is how long an exact count may take before an estimate replaces it.
	BudgetMillis *int64 `json:"budget_ms"`
	// MaxValueBytes limits the size of texts in rows.
	MaxValueBytes *int `json:"max_value_bytes"`
}

// staleness is how old rows may be with the consistency any.
const staleness = 10 * time.Second
