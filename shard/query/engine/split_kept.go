package engine

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"cordwood/proto/lru"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/sql"

	"github.com/apache/arrow-go/v18/arrow"
)

// This file caches split statements, for when a statement is repeated.

// kept is a cache of split statements, or of shapes of partial results, that keeps the most recently used entries. It
// is safe for concurrent use.
type kept[V any] struct {
	mu  sync.Mutex // guards lru
	lru *lru.Cache[string, *V]
}

func newKept[V any]() *kept[V] { return &kept[V]{lru: lru.New[string, *V](cachedUnits)} }

func (k *kept[V]) get(key string) *V {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, _ := k.lru.Get(key)
	return v
}

func (k *kept[V]) put(key string, v *V) {
	if len(key) > 2*maxCachedSQL {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lru.Put(key, v, unitsOf(key))
}

// splitKey returns a key of everything on which the result of Split depends, except the time.
func splitKey(st *studied, req *query.Request) string {
	asked := ""
	if st.asked != nil {
		asked = "\x00" + st.asked.SQL // the names of columns depend on this text
	}
	return asked + fmt.Sprint(req.Limit, "\x00", req.Database, "\x00", tablesKey(req), valuesKey(req.Values), req.SQL)
}

// valuesKey identifies the values of the subqueries of a request.
func valuesKey(list []query.Values) string {
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "%t %t %q;", v.Null, v.Exists, v.Texts)
	}
	return b.String()
}

// shapeKey returns a key of everything on which the partial results of a statement for nodes depend. tables identifies
// the tables of the request.
func shapeKey(req *query.Request, tables, worker, moment string) string {
	if moment != "" {
		worker = strings.ReplaceAll(worker, moment, "now()")
	}
	return fmt.Sprint(req.Database, "\x00", tables, worker)
}

// tablesKey identifies the columns of the request's tables. It is a hash, because the names of all columns of many
// tables are longer than a key may be.
func tablesKey(req *query.Request) string {
	var b bytes.Buffer
	for i := range req.Tables {
		t := &req.Tables[i]
		fmt.Fprintf(&b, "%q.%q(", t.Database, t.Name)
		for j := range t.Schema.Columns {
			c := &t.Schema.Columns[j]
			fmt.Fprintf(&b, "%q %d %d,", c.Name, c.Type, c.Semantic)
		}
		b.WriteByte(')')
	}
	sum := sha256.Sum256(b.Bytes())
	return string(sum[:])
}

// partialShape describes the partial results of a statement: the columns of their table, and the
// columns of the nodes' answers.
type partialShape struct {
	columns []duck.Column
	schema  *arrow.Schema
}

// create returns the statement that creates a table of partial results.
func (s *partialShape) create(table string) string {
	list := make([]string, len(s.columns))
	for i, c := range s.columns {
		list[i] = sql.QuoteName(c.Name) + " " + c.Type
	}
	return "CREATE TEMP TABLE " + table + " (" + strings.Join(list, ", ") + ")"
}
