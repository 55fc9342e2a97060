package rewrite

import (
	"fmt"
	"strings"
)

// keywords are the rows of pg_get_keywords.
const keywords = `all:R analyse:R analyze:R and:R any:R array:R as:R asc:R between:C both:R by:U case:R cast:R collate:R
	column:R constraint:R copy:U create:R cross:T current_date:R current_time:R current_timestamp:R current_user:R
	default:R delete:U desc:R distinct:R do:R drop:U else:R end:R except:R exists:C explain:U false:R fetch:R filter:U
	for:R foreign:R from:R full:T grant:R group:R having:R ilike:T in:R index:U inner:T insert:U intersect:R interval:C
	into:R is:T isnull:T join:T key:U lateral:R leading:R left:T like:T limit:R localtime:R localtimestamp:R natural:T
	not:R notnull:T null:R offset:R on:R only:R or:R order:R outer:T over:U overlaps:T partition:U pivot:R primary:R
	qualify:R references:R returning:R right:T rows:U schema:U select:R session_user:R set:U similar:T some:R symmetric:R
	table:R then:R to:R trailing:R true:R truncate:U union:R unique:R unpivot:R update:U user:R using:R values:C
	variadic:R when:R where:R window:R with:R`

// scalarFunctions are functions of the engine that may stand in FROM, where they return a row. JDBC and psycopg call
// functions in this way.
var scalarFunctions = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`abs array_append array_cat array_position array_prepend ascii ceil ceiling
		char_length character_length chr coalesce concat concat_ws exp floor gcd gen_random_uuid greatest lcm least left ln
		log lower ltrim make_date make_timestamp md5 mod now nullif pi power random replace reverse right row_to_json rtrim
		sign split_part sqrt starts_with string_to_array strpos to_json translate trunc upper`) {
		scalarFunctions[name] = true
	}
}

// rowFunction rewrites a function in FROM that the engine does not have as a table function.
func (r *rewriter) rowFunction(n int, name string) bool {
	switch name {
	case "unnest":
		return r.unnestLists(n) || r.setFunction(n, name)
	case "generate_series":
		return r.setFunction(n, name)
	case "generate_subscripts":
		return r.subscripts(n)
	case "regexp_matches":
		return r.matchTable(n)
	case "pg_options_to_table", "pg_partition_tree":
		return r.catalogFunction(n, name)
	case "pg_get_keywords":
		end := r.closingBracket(n + 1)
		if end < 0 {
			return false
		}
		classes := map[string]string{
			"R": "reserved", "U": "unreserved", "T": "reserved (can be function or type name)",
			"C": "unreserved (cannot be function or type name)",
		}
		var rows []string
		for k := range strings.FieldsSeq(keywords) {
			word, class, _ := strings.Cut(k, ":")
			rows = append(rows, fmt.Sprintf("(%s, %s, TRUE, %[2]s, '')", quote(word), quote(classes[class])))
		}
		text := "(SELECT * FROM (VALUES " + strings.Join(rows, ", ") +
			") AS k(word, catcode, barelabel, catdesc, baredesc))"
		if !r.aliased(end + 1) {
			text += " AS pg_get_keywords"
		}
		r.raw(r.at(0), text)
		r.i += end + 1
		return true
	}
	if documentRows[name].columns != nil {
		return r.documentTable(n, name)
	}
	if recordTypes[name] {
		return r.recordTable(n, strings.HasSuffix(name, "set"))
	}
	if functions[name] == nil && !scalarFunctions[name] {
		return false
	}
	end := r.closingBracket(n + 1)
	if end < 0 {
		return false
	}
	head := r.at(0)
	call := joined(r.all(r.in[r.i+n : r.i+end+1]))
	alias := name
	r.i += end + 1
	if r.at(0).word("AS") {
		r.i++
	}
	if t := r.at(0); t.isName() && !afterTable[strings.ToUpper(t.val)] {
		alias = t.text
		r.i++
	}
	r.raw(head, "(SELECT "+call+" AS "+alias+") AS "+alias)
	return true
}

// rowsOfCatalog has the queries for functions of the catalog that return rows, with %s for the argument. A table has no
// partitions, so it is the only row of its tree.
var rowsOfCatalog = map[string]string{
	"pg_options_to_table": "(SELECT split_part(cordwood_o, '=', 1) AS option_name, substr(cordwood_o, " +
		"strpos(cordwood_o, '=') + 1) AS option_value FROM (SELECT unnest(%s) AS cordwood_o))",
	"pg_partition_tree": "(SELECT (%s) AS relid, CAST(NULL AS BIGINT) AS parentrelid, TRUE AS isleaf, 0 AS level)",
}

func (r *rewriter) catalogFunction(n int, name string) bool {
	end := r.closingBracket(n + 1)
	if end < 0 {
		return false
	}
	text := fmt.Sprintf(rowsOfCatalog[name], joined(r.all(r.in[r.i+n+2:r.i+end])))
	if !r.aliased(end + 1) {
		text += " AS " + name
	}
	r.raw(r.at(0), text)
	r.i += end + 1
	return true
}

// setFunction gives the column of generate_series and unnest the name of their alias, as PostgreSQL does.
func (r *rewriter) setFunction(n int, name string) bool {
	end := r.closingBracket(n + 1)
	if end < 0 {
		return false
	}
	k := end + 1
	if r.at(k).word("AS") {
		k++
	}
	alias := r.at(k)
	if !alias.isName() || afterTable[strings.ToUpper(alias.val)] {
		if n == 0 {
			return false
		}
		alias = tok{text: name}
		k = end
	} else if r.at(k + 1).sym("(") {
		if n == 0 {
			return false
		}
		head := r.at(0)
		call := joined(r.all(r.in[r.i+n : r.i+end+1]))
		r.i += end + 1
		r.raw(head, call)
		return true
	}
	head := r.at(0)
	inner := strings.Join(seriesOfTimes(r.arguments(n+2, end)), ", ")
	r.i += k + 1
	r.raw(head, name+"("+inner+") AS "+alias.text+"("+alias.text+")")
	return true
}

// unnestLists rewrites unnest(a, b) [WITH ORDINALITY] AS t(x, y), which the engine has only for one list.
func (r *rewriter) unnestLists(n int) bool {
	end := r.closingBracket(n + 1)
	if end < 0 {
		return false
	}
	k := end + 1
	numbered := r.at(k).word("WITH") && r.at(k+1).word("ORDINALITY")
	if numbered {
		k += 2
	}
	if r.at(k).word("AS") {
		k++
	}
	last := r.closingBracket(k + 1)
	named := r.at(k).isName() && r.at(k+1).sym("(") && last >= 0
	if !named && r.firstComma(n+1, end) < 0 {
		return false
	}
	lists := r.arguments(n+2, end)
	var names []string
	for i := k + 2; named && i < last; i += 2 {
		names = append(names, r.at(i).text)
	}
	alias := r.at(k).text
	if !named { // each column has the name of the function, and so has the table without an alias
		last = k
		if !r.at(k).isName() || afterTable[strings.ToUpper(r.at(k).val)] {
			alias, last = "unnest", k-1
		}
		for range lists {
			names = append(names, "unnest")
		}
		if numbered {
			names = append(names, "ordinality")
		}
	}
	if want := len(lists) + map[bool]int{true: 1}[numbered]; len(lists) < 2 || len(names) != want {
		return false
	}
	var columns []string
	for i, list := range lists {
		columns = append(columns, "unnest("+list+") AS "+names[i])
	}
	if numbered {
		columns = append(columns, "generate_subscripts("+lists[0]+", 1) AS "+names[len(lists)])
	}
	r.raw(r.at(0), "(SELECT "+strings.Join(columns, ", ")+") AS "+alias)
	r.i += last + 1
	return true
}

// firstComma returns the place of the first comma between the brackets of a call, or -1.
func (r *rewriter) firstComma(open, end int) int {
	for n := open + 1; n < end; n++ {
		if t := r.at(n); t.match > 0 {
			n += t.match
		} else if t.sym(",") {
			return n
		}
	}
	return -1
}

// subscripts rewrites generate_subscripts(list, 1) in FROM. Vectors of the catalog are counted from 0.
func (r *rewriter) subscripts(n int) bool {
	end := r.closingBracket(n + 1)
	if end < 0 {
		return false
	}
	k := end + 1
	if r.at(k).word("AS") {
		k++
	}
	args := r.arguments(n+2, end)
	if len(args) != 2 || !r.at(k).isName() || afterTable[strings.ToUpper(r.at(k).val)] {
		return false
	}
	first := ""
	if isVector(args[0]) {
		first = " - 1"
	}
	alias := r.at(k).text
	r.raw(r.at(0), "(SELECT generate_subscripts("+args[0]+", 1)"+first+" AS "+alias+") AS "+alias)
	r.i += k + 1
	return true
}

// expandArray rewrites (information_schema._pg_expandarray(x)).n, .x, and the call without a field.
func (r *rewriter) expandArray() bool {
	end := r.closingBracket(3)
	if end < 0 {
		return false
	}
	arg := joined(r.all(r.in[r.i+4 : r.i+end]))
	if r.last().sym("(") && r.at(end+1).sym(")") && r.at(end+2).sym(".") {
		field := strings.ToLower(r.at(end + 3).val)
		head := r.last()
		r.out = r.out[:len(r.out)-1]
		text := "unnest(" + arg + ")"
		if field == "n" {
			text = "generate_subscripts(" + arg + ", 1)"
		}
		r.raw(head, text)
		r.i += end + 4
		return true
	}
	r.raw(r.at(0), "unnest(list_transform("+arg+", (cordwood_x, cordwood_n) -> {'x': cordwood_x, 'n': cordwood_n}))")
	r.i += end + 1
	return true
}

// replacementOf returns a replacement for known statements that the rules cannot rewrite, or an empty string.
func replacementOf(text string) string {
	if strings.Contains(text, "pg_catalog.pg_publication_rel pr ON p.oid = pr.prpubid") &&
		strings.Contains(text, "pg_catalog.generate_series(0, pg_catalog.array_upper(pr.prattrs") {
		return "SELECT " + nullText + " AS pubname, " + nullText + `, ` + nullText + " LIMIT 0" // psql's \d: there are none
	}
	return ""
}
