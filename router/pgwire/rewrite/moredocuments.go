package rewrite

import (
	"fmt"
	"strconv"
	"strings"
)

// existsCall rewrites jsonb_exists, jsonb_exists_any and jsonb_exists_all, the functions of ?, ?| and ?&.
func existsCall(function string) expand {
	return func(r *rewriter, args []string) (string, bool) {
		if len(args) != 2 {
			return "", false
		}
		keys := args[1]
		if text, ok := literalOf(keys); ok && function != "list_contains" {
			list, ok := listLiteral(text)
			if !ok {
				return "", r.refuse("the keys must be an array, such as ARRAY['a', 'b']", 0)
			}
			keys = "CAST(" + list + " AS VARCHAR[])"
		}
		document := "CAST(" + args[0] + " AS JSON)"
		return function + "(" + bound(document, 1, documentNames) + ", " + keys + ")", true
	}
}

// jsonInsert rewrites jsonb_insert(document, path, value [, after]) with a literal path.
func jsonInsert(r *rewriter, args []string) (string, bool) {
	if len(args) < 3 || len(args) > 4 {
		return "", false
	}
	keys, ok := literalPath(args[1])
	if !ok || len(keys) > maxSetKeys {
		return "", r.refuse("jsonb_insert needs a literal path of at most "+itoa(maxSetKeys)+
			" keys, such as '{a,0}'", 0)
	}
	after := false
	if len(args) == 4 {
		switch strings.ToLower(strings.TrimSpace(args[3])) {
		case "true":
			after = true
		case "false":
		default:
			return "", r.refuse("the last argument of jsonb_insert must be true or false", 0)
		}
	}
	document := "CAST(" + args[0] + " AS JSON)"
	if len(keys) == 0 {
		return document, true
	}
	val := "CAST(" + args[2] + " AS JSON)"
	last := keys[len(keys)-1]
	result := inserted("cordwood_d1", last, val, after, 1)
	if before := keys[:len(keys)-1]; len(before) > 0 {
		part := atPath("cordwood_d1", before, false)
		into := bound(part, 9, inserted("cordwood_d9", last, val, after, len(keys)))
		result = "CASE WHEN json_type(" + part + ") IN ('OBJECT', 'ARRAY') THEN " + replaced(before, 1, into, false) +
			" ELSE cordwood_d1 END"
	}
	return "CASE WHEN (" + args[2] + ") IS NOT NULL THEN " + bound(document, 1, result) + " END", true
}

// inserted returns an object or a list with a new part. position is that of the key in the path, for errors.
func inserted(d, key, val string, after bool, position int) string {
	fails := func(text string) string { return "CAST(error(" + quote(text) + ") AS JSON)" }
	list := fails(fmt.Sprintf("path element at position %d is not an integer: %q", position, key))
	if keyNumber.MatchString(key) {
		n, _ := strconv.Atoi(key)
		elements := "CAST(" + d + " AS JSON[])"
		place := strconv.Itoa(n)
		if n < 0 {
			place = "greatest(len(" + elements + ") - " + strconv.Itoa(-n) + ", 0)"
		}
		if after {
			place = "(" + place + " + 1)"
			if n < 0 { // before the first element there is none after which the value could stand
				place = fmt.Sprintf("CASE WHEN len(%s) < %d THEN 0 ELSE %s END", elements, -n, place)
			}
		}
		place = "CAST(" + place + " AS BIGINT)"
		list = fmt.Sprintf("to_json(list_concat(list_concat(list_slice(%[1]s, 1, %[2]s), [%[3]s]), "+
			"list_slice(%[1]s, %[2]s + 1, len(%[1]s))))", elements, place, val)
	}
	pointer := quote("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	object := "CASE WHEN json_exists(" + d + ", " + pointer + ") THEN " + fails("cannot replace existing key") +
		" ELSE to_json(map_concat(CAST(" + d + " AS MAP(VARCHAR, JSON)), MAP {" + quote(key) + ": " + val + "})) END"
	return "CASE json_type(" + d + ") WHEN 'ARRAY' THEN " + list + " WHEN 'OBJECT' THEN " + object + " ELSE " +
		fails("cannot set path in scalar") + " END"
}

// stripDepth is the number of objects in objects from which jsonb_strip_nulls removes fields.
const stripDepth = 3

// stripNulls rewrites jsonb_strip_nulls, which removes fields that are null from objects and the objects in them. A
// document with such fields elsewhere is refused. The texts of a document are emptied to look for them.
func stripNulls(_ *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	bare := `regexp_replace(CAST(cordwood_d1 AS VARCHAR), '"(\\.|[^"\\])*"|\s', '', 'g')`
	return bound(bound("CAST("+args[0]+" AS JSON)", 1, withoutNulls(1)), 1, "CASE WHEN contains("+bare+", ':null') THEN "+
		"CAST(error('jsonb_strip_nulls: only objects "+itoa(stripDepth)+" deep and outside of lists may have fields "+
		"that are null') AS JSON) ELSE cordwood_d1 END"), true
}

// withoutNulls returns the document of a level without fields that are null.
func withoutNulls(level int) string {
	d, e := "cordwood_d"+strconv.Itoa(level), "cordwood_e"+strconv.Itoa(level)
	inner := e + ".value"
	if level < stripDepth {
		inner = bound(inner, level+1, withoutNulls(level+1))
	}
	entries := "map_entries(CAST(" + d + " AS MAP(VARCHAR, JSON)))"
	return "CASE WHEN json_type(" + d + ") = 'OBJECT' THEN to_json(map_from_entries(list_transform(list_filter(" +
		entries + ", lambda " + e + ": " + e + ".value IS NOT NULL), lambda " + e + ": {'key': " + e + ".key, 'value': " +
		inner + "}))) ELSE " + d + " END"
}

// objectAggregate rewrites json_object_agg(k, v ORDER BY x): the engine's macro takes no ORDER BY. n is the distance to
// the end of the arguments. It returns how many tokens it replaces.
func (r *rewriter) objectAggregate(args []string, end int) (text string, size int, ok bool) {
	if len(args) < 2 {
		return "", 0, false
	}
	val, order := splitOrder(args[1])
	if len(args) > 2 {
		if order == "" {
			return "", 0, false
		}
		order += ", " + strings.Join(args[2:], ", ")
	}
	clauses, size := r.clausesAfter(end)
	if order == "" && clauses == "" {
		return "", 0, false
	}
	key := "CASE WHEN (" + args[0] + ") IS NULL THEN error('field name must not be null') ELSE " +
		"CAST(to_json(CAST(" + args[0] + " AS VARCHAR)) AS VARCHAR) END"
	val = "coalesce(CAST(to_json(" + val + ") AS VARCHAR), 'null')"
	members := "string_agg(" + key + " || ':' || " + val + ", ','" + order + ")" + clauses
	return "CAST('{' || " + members + " || '}' AS JSON)", size, true
}

// splitOrder splits an argument of an aggregate before its ORDER BY.
func splitOrder(arg string) (val, order string) {
	parts := splitWords(arg, "ORDER")
	if len(parts) < 2 {
		return arg, ""
	}
	return parts[0], " ORDER" + parts[1]
}

// clausesAfter returns FILTER (…) and OVER (…) after a call whose arguments end n tokens ahead, and how many tokens the
// call has with them.
func (r *rewriter) clausesAfter(end int) (text string, size int) {
	for _, word := range []string{"FILTER", "OVER"} {
		last := r.closingBracket(end + 2)
		if !r.at(end+1).word(word) || last < 0 {
			continue
		}
		text += " " + word + " (" + joined(r.all(r.in[r.i+end+3:r.i+last])) + ")"
		end = last
	}
	return text, end + 1
}
