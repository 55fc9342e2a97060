package rewrite

import "strings"

// jsonRows are PostgreSQL's functions that return a row for each part of a document. lists has an expression for each
// column, with %1 for the document.
type jsonRows struct {
	columns, lists []string
}

const (
	jsonElements = "CAST(CAST(%1 AS JSON) AS JSON[])"
	// jsonValues has the document null where the engine's list of documents has no value.
	jsonValues = "list_transform(%1, lambda cordwood_v: coalesce(cordwood_v, CAST('null' AS JSON)))"
	jsonTexts  = "list_transform(%1, lambda cordwood_v: json_extract_string(cordwood_v, '$'))"
	jsonFields = "CAST(CAST(%1 AS JSON) AS MAP(VARCHAR, JSON))"
)

var documentRows = func() map[string]jsonRows {
	texts := func(list string) string { return strings.ReplaceAll(jsonTexts, "%1", list) }
	documents := func(list string) string { return strings.ReplaceAll(jsonValues, "%1", list) }
	elements := jsonRows{[]string{"value"}, []string{documents(jsonElements)}}
	elementTexts := jsonRows{[]string{"value"}, []string{texts(jsonElements)}}
	keys, values := "map_keys("+jsonFields+")", "map_values("+jsonFields+")"
	m := map[string]jsonRows{}
	for _, prefix := range []string{"json", "jsonb"} {
		m[prefix+"_array_elements"] = elements
		m[prefix+"_array_elements_text"] = elementTexts
		m[prefix+"_each"] = jsonRows{[]string{"key", "value"}, []string{keys, documents(values)}}
		m[prefix+"_each_text"] = jsonRows{[]string{"key", "value"}, []string{keys, texts(values)}}
		m[prefix+"_object_keys"] = jsonRows{[]string{prefix + "_object_keys"}, []string{keys}}
	}
	return m
}()

// list returns the expression for a column.
func (f jsonRows) list(column int, document string) string {
	return strings.ReplaceAll(f.lists[column], "%1", document)
}

// unnested rewrites a function of documentRows with one column in a select list.
func unnested(f jsonRows) expand {
	return func(_ *rewriter, args []string) (string, bool) {
		if len(args) != 1 {
			return "", false
		}
		return "unnest(" + f.list(0, args[0]) + ")", true
	}
}

// documentTable rewrites a function of documentRows in FROM, whose name is n tokens ahead. Its rows may have an ordinal
// number and an alias with names of the columns.
func (r *rewriter) documentTable(n int, name string) bool {
	f := documentRows[name]
	end := r.closingBracket(n + 1)
	if end < 0 {
		return false
	}
	args := r.arguments(n+2, end)
	if len(args) != 1 {
		return false
	}
	k := end + 1
	numbered := r.at(k).word("WITH") && r.at(k+1).word("ORDINALITY")
	if numbered {
		k += 2
	}
	names := append([]string{}, f.columns...)
	if numbered {
		names = append(names, "ordinality")
	}
	alias := name
	if r.at(k).word("AS") {
		k++
	}
	if t := r.at(k); t.isName() && !afterTable[strings.ToUpper(t.val)] {
		alias = t.text
		k++
		if strings.HasSuffix(name, "_object_keys") {
			names[0] = alias // a function without names for its results takes the alias
		}
		if last := r.closingBracket(k); r.at(k).sym("(") && last > 0 {
			for i, at := 0, k+1; at < last && i < len(names); i, at = i+1, at+2 {
				names[i] = r.at(at).text
			}
			k = last + 1
		}
	}
	columns := make([]string, len(names))
	for i := range f.columns {
		columns[i] = "unnest(" + f.list(i, args[0]) + ") AS " + names[i]
	}
	if numbered {
		columns[len(names)-1] = "generate_subscripts(" + f.list(0, args[0]) + ", 1) AS " + names[len(names)-1]
	}
	r.raw(r.at(0), "(SELECT "+strings.Join(columns, ", ")+") AS "+alias)
	r.i += k
	return true
}

// recordTypes are the functions whose rows have the columns of their alias.
var recordTypes = map[string]bool{
	"json_to_record": true, "jsonb_to_record": true, "json_to_recordset": true, "jsonb_to_recordset": true,
}

// recordTable rewrites json_to_record(x) AS t(a int, b text) in FROM, whose name is n tokens ahead. many is true if x
// is a list of objects.
func (r *rewriter) recordTable(n int, many bool) bool {
	end := r.closingBracket(n + 1)
	if end < 0 {
		return false
	}
	args := r.arguments(n+2, end)
	k := end + 1
	if r.at(k).word("AS") {
		k++
	}
	last := r.closingBracket(k + 1)
	if len(args) != 1 || !r.at(k).isName() || !r.at(k+1).sym("(") || last < 0 {
		return false
	}
	var columns []string
	for i := k + 2; i < last; i++ {
		name := r.at(i)
		t, ok := r.readType(i + 1)
		if !ok || !name.isName() {
			return false
		}
		get := "json_extract_string"
		if t.array || t.isDocumentType() {
			get = "json_extract"
		}
		path := "$." + `"` + strings.ReplaceAll(folded(name), `"`, `\"`) + `"`
		columns = append(columns, "CAST("+get+"(cordwood_v, "+quote(path)+") AS "+t.text+") AS "+name.text)
		i += 1 + t.size
	}
	rows := "CAST(" + args[0] + " AS JSON)"
	if many {
		rows = "unnest(" + strings.ReplaceAll(jsonElements, "%1", args[0]) + ")"
	}
	r.raw(r.at(0), "(SELECT "+strings.Join(columns, ", ")+" FROM (SELECT "+rows+" AS cordwood_v) AS cordwood_r) AS "+
		r.at(k).text)
	r.i += last + 1
	return true
}

// nameRows replaces the aliases of functions that return the parts of documents, where a query uses them as values, by
// their columns: in PostgreSQL, e is the value in FROM json_array_elements(x) AS e.
func nameRows(toks []tok) []tok {
	columns := map[string]string{}
	for i := 0; i+1 < len(toks); i++ {
		f := documentRows[strings.ToLower(toks[i].val)]
		if len(f.columns) != 1 || !toks[i].isName() || !toks[i+1].sym("(") || toks[i+1].match <= 0 ||
			f.columns[0] != "value" {
			continue
		}
		k := i + 2 + toks[i+1].match
		if k < len(toks) && toks[k].word("AS") {
			k++
		}
		if k >= len(toks) || !toks[k].isName() || afterTable[strings.ToUpper(toks[k].val)] || !afterFrom(toks, i) {
			continue
		}
		column := "value"
		if k+2 < len(toks) && toks[k+1].sym("(") && toks[k+2].isName() {
			column = toks[k+2].text
		}
		columns[strings.ToLower(toks[k].val)] = column
	}
	if len(columns) == 0 {
		return toks
	}
	out := make([]tok, 0, len(toks))
	for i, t := range toks {
		column := columns[strings.ToLower(t.val)]
		if column != "" && t.isName() && isValueHere(toks, i) {
			t.text += "." + column
			t.val = column
		}
		out = append(out, t)
	}
	return out
}

// afterFrom reports whether the call at i is in FROM.
func afterFrom(toks []tok, i int) bool {
	if i > 1 && toks[i-1].sym(".") {
		i -= 2 // pg_catalog
	}
	if i == 0 {
		return false
	}
	t := toks[i-1]
	return t.word("FROM") || t.word("JOIN") || t.word("LATERAL") || t.sym(",")
}

// isValueHere reports whether the name at i is a value, and neither an alias that is defined there nor a table.
func isValueHere(toks []tok, i int) bool {
	if i+1 < len(toks) && (toks[i+1].sym(".") || toks[i+1].sym("(")) {
		return false
	}
	if i == 0 {
		return false
	}
	before := toks[i-1]
	return !before.sym(".") && !before.word("AS") && !before.sym(")") && !before.word("FROM") && !before.word("JOIN")
}
