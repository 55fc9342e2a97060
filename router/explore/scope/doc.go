// Package scope says which rows a request of a page for logs is about: the tables, the time, the search text and the
// condition. It finds the tables, makes SQL of the rest, and has that run as any other query: by the service that runs
// the SQL of clients, with its rights, limits and places.
//
// A Scope belongs to one request. It keeps what the answers of its queries lack.
package scope

import (
	"context"
	"time"

	"cordwood/proto/schema"
	"cordwood/router/query"
)

// Source finds tables and runs SQL; *query.Service does.
type Source interface {
	Table(ctx context.Context, database, name string) (*schema.Table, error)
	Tables(ctx context.Context, database string) ([]*schema.Table, error)
	CheckCondition(ctx context.Context, database, where string) error
	Extents(ctx context.Context, tables []*schema.Table) (map[uint64]*query.Extent, error)
	Execute(ctx context.Context, req query.Request, each func(context.Context, query.Result) error) error
}

// MaxTables bounds the tables of a scope.
const MaxTables = 32

// Request is a scope as clients write it.
type Request struct {
	// DB is the database; empty: public.
	DB string `json:"db"`
	// Tables are names, or patterns with stars.
	Tables []string `json:"tables"`
	// From and To are times by RFC 3339, or negative durations before now; nil: from the first row on, and up to now.
	From *string `json:"from"`
	To   *string `json:"to"`
	// Query is a search text, Where a condition in SQL; both must hold.
	Query string `json:"query"`
	Where string `json:"where"`
	// AllowPartial leaves out what cannot be read.
	AllowPartial bool `json:"allow_partial"`
	// Consistency is linear or any, as for SQL; empty: linear.
	Consistency string `json:"consistency"`
	// Exact has nothing estimated.
	Exact bool `json:"exact"`
	// BudgetMillis is how long an exact count may take before it is estimated.
	BudgetMillis *int64 `json:"budget_ms"`
	// MaxValueBytes bounds the texts of rows.
	MaxValueBytes *int `json:"max_value_bytes"`
}

// staleness is how old rows may be by the consistency any.
const staleness = 10 * time.Second
