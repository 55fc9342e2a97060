package pgwire

import (
	"context"
	"strings"

	"cordwood/router/pgwire/rewrite"
	"cordwood/router/query/pgcatalog"
)

// maxOrigin is the maximum length of a statement whose table is searched, in bytes.
const maxOrigin = 16 << 10

// originate tells clients which columns of a result are columns of a stored table, so that they can look up whether
// these may be null. This is known only for queries of one table.
func (c *conn) originate(text string, columns []column, items []rewrite.Item) {
	if len(text) > maxOrigin || len(items) == 0 {
		return
	}
	database, name, ok := rewrite.SoleTable(text)
	if !ok {
		return
	}
	ctx, end := c.caller(context.Background(), func(error) {})
	defer end()
	source := c.srv.cfg.Service.Catalog(ctx, c.session.database, c.session.user)
	path := c.session.databases()
	if database != "" {
		path = []string{database}
	}
	for _, d := range path {
		for _, t := range source.TablesOf(d) {
			if !strings.EqualFold(t.Name, name) {
				continue
			}
			for i := range columns {
				if items[i].Column == "" && !items[i].Star {
					continue
				}
				for k := range t.Columns {
					if t.Columns[k].Name == orElse(items[i].Column, columns[i].name) {
						columns[i].table, columns[i].number = uint32(pgcatalog.TableOID(t)), uint16(k+1)
					}
				}
			}
			return
		}
	}
}
