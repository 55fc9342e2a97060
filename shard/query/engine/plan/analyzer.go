package plan

import (
	"strconv"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
)

// analyzerOf returns how the words of a column are separated: according to its fulltext index, or
// without regard to case if it has none.
func analyzerOf(c *schema.Column) sql.Analyzer {
	if c == nil || c.Index == nil || c.Index.Kind != schema.FulltextIndex {
		return sql.Analyzer{}
	}
	o := c.Index.Options
	caseSensitive, err := strconv.ParseBool(o[schema.IndexOptionCaseSensitive])
	return sql.Analyzer{CaseSensitive: err == nil && caseSensitive, Chinese: o[schema.IndexOptionAnalyzer] == "Chinese"}
}

// analyzerIn returns the analyzer of the column that the call searches. It looks up the column's
// name in the statement's tables.
func analyzerIn(c *sql.SearchCall, plans []*Plan) sql.Analyzer {
	path, _ := c.Column["column_names"].([]any)
	if sql.Text(c.Column, "class") != "COLUMN_REF" || len(path) == 0 {
		return sql.Analyzer{}
	}
	name, _ := path[len(path)-1].(string)
	for _, p := range plans {
		if len(path) > 1 {
			qualifier, _ := path[len(path)-2].(string)
			if !strings.EqualFold(qualifier, p.Ref.Name.Name) && !strings.EqualFold(qualifier, p.Ref.Given) {
				continue
			}
		}
		for i := range p.View.Columns {
			if col := &p.View.Columns[i]; strings.EqualFold(col.Name, name) || strings.EqualFold(p.View.Names[i], name) {
				return analyzerOf(col)
			}
		}
	}
	return sql.Analyzer{}
}
