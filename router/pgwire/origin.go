package pgwire

import (
	"strings"

	"cordwood/router/pgwire/rewrite"
	"cordwood/router/query/pgcatalog"
)

// maxOrigin is the maximum length of a statement whose table is searched, in bytes.
const maxOrigin = 16 << 10

// originate tells clients which columns of a result are columns of a stored table, so that they can look up whether
// these may be null. This is known only for queries of one table.
func (t *translator) originate(text string, columns []column, items []rewrite.Item) {
	if len(text) > maxOrigin || len(items) == 0 {
		return
	}
	database, name, ok := rewrite.SoleTable(text)
	if !ok {
		return
	}
	source := t.runner.catalog()
	path := t.session.databases()
	if database != "" {
		path = []string{database}
	}
	for _, d := range path {
		for _, tab := range source.TablesOf(d) {
			if !strings.EqualFold(tab.Name, name) {
				continue
			}
			for i := range columns {
				if items[i].Column == "" && !items[i].Star {
					continue
				}
				for k := range tab.Columns {
					if tab.Columns[k].Name == orElse(items[i].Column, columns[i].name) {
						columns[i].table, columns[i].number = uint32(pgcatalog.TableOID(tab)), uint16(k+1)
					}
				}
			}
			return
		}
	}
}
