package rewrite

import (
	"fmt"
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// maxSetKeys is the maximum number of keys in the path of jsonb_set.
const maxSetKeys = 8

var keyNumber = lazyregexp.New(`^-?[0-9]{1,9}$`)

// pathCall rewrites json_extract_path and json_extract_path_text, whose keys are literals.
func pathCall(text bool) expand {
	return func(_ *rewriter, args []string) (string, bool) {
		if len(args) < 2 || len(args) > maxKeys+1 {
			return "", false
		}
		keys := make([]string, len(args)-1)
		for i, arg := range args[1:] {
			key, ok := literalOf(arg)
			if !ok {
				return "", false
			}
			keys[i] = key
		}
		return atPath("CAST("+args[0]+" AS JSON)", keys, text), true
	}
}

// buildObject rewrites json_build_object. The engine's keys must be texts.
func buildObject(r *rewriter, args []string) (string, bool) {
	list := make([]string, len(args))
	source := r.sourceArguments()
	for i, arg := range args {
		if i%2 == 1 && len(source) == len(args) {
			list[i] = r.jsonArgument(arg, source[i])
			continue
		}
		list[i] = arg
		if _, ok := literalOf(arg); i%2 == 0 && !ok {
			list[i] = "CAST(" + arg + " AS VARCHAR)"
		}
	}
	return "json_object(" + strings.Join(list, ", ") + ")", true
}

// buildArray rewrites json_build_array.
func buildArray(r *rewriter, args []string) (string, bool) {
	if source := r.sourceArguments(); len(source) == len(args) {
		for i := range args {
			args[i] = r.jsonArgument(args[i], source[i])
		}
	}
	return "json_array(" + strings.Join(args, ", ") + ")", true
}

// jsonSet rewrites jsonb_set(document, path, value [, create]) with a literal path.
func jsonSet(r *rewriter, args []string) (string, bool) {
	if len(args) < 3 || len(args) > 4 {
		return "", false
	}
	keys, ok := literalPath(args[1])
	if !ok || len(keys) > maxSetKeys {
		return "", false
	}
	create := true
	if len(args) == 4 {
		switch strings.ToLower(strings.TrimSpace(args[3])) {
		case "true":
		case "false":
			create = false
		default:
			return "", false
		}
	}
	document := "CAST(" + args[0] + " AS JSON)"
	if len(keys) == 0 {
		return document, true
	}
	return "CASE WHEN (" + args[2] + ") IS NOT NULL THEN " +
		bound(document, 1, replaced(keys, 1, "CAST("+args[2]+" AS JSON)", create)) + " END", true
}

// literalPath returns the keys of a path in the form '{a,b}' or ARRAY['a', 'b'].
func literalPath(arg string) (keys []string, ok bool) {
	if text, literal := literalOf(arg); literal {
		return value.Texts(text)
	}
	toks := statement.Tokens(arg)
	if len(toks) < 3 || !strings.EqualFold(toks[0].Value, "ARRAY") {
		return nil, false
	}
	for i := 2; i < len(toks); i += 2 {
		if toks[i].Kind != statement.TokenText || isMarker(toks[i].Value) {
			return nil, false
		}
		keys = append(keys, toks[i].Value)
	}
	return keys, true
}

// bound evaluates an expression in which the variable of a level stands for a value. So the value occurs only once.
func bound(val string, level int, expression string) string {
	return fmt.Sprintf("list_transform([%s], lambda cordwood_d%d: %s)[1]", val, level, expression)
}

// replaced returns the document of a level with another value at a path below it.
func replaced(keys []string, level int, val string, create bool) string {
	d := "cordwood_d" + strconv.Itoa(level)
	key, last := keys[0], len(keys) == 1
	pointer := quote("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	inner := val
	if !last {
		inner = bound("json_extract("+d+", "+pointer+")", level+1, replaced(keys[1:], level+1, val, create))
	}
	fields := "CAST(" + d + " AS MAP(VARCHAR, JSON))"
	object := "to_json(map_concat(" + fields + ", MAP {" + quote(key) + ": " + inner + "}))"
	if !last || !create { // what does not exist stays away
		object = "CASE WHEN json_exists(" + d + ", " + pointer + ") THEN " + object + " ELSE " + d + " END"
	}
	return "CASE json_type(" + d + ") WHEN 'OBJECT' THEN " + object + " WHEN 'ARRAY' THEN " +
		replacedElement(keys, level, val, create) + " ELSE CAST(error('cannot set path in scalar') AS JSON) END"
}

// replacedElement is replaced for a document that is a list.
func replacedElement(keys []string, level int, val string, create bool) string {
	d := "cordwood_d" + strconv.Itoa(level)
	if !keyNumber.MatchString(keys[0]) {
		return "CAST(error(" + quote(fmt.Sprintf("path element at position %d is not an integer: %q", level, keys[0])) +
			") AS JSON)"
	}
	at, _ := strconv.Atoi(keys[0])
	list := "CAST(" + d + " AS JSON[])"
	index := strconv.Itoa(at + 1)
	if at < 0 {
		index = "len(" + list + ") + " + strconv.Itoa(at+1)
	}
	item := fmt.Sprintf("cordwood_e%d", level)
	inner := val
	if len(keys) > 1 {
		inner = bound(item, level+1, replaced(keys[1:], level+1, val, create))
	}
	elements := fmt.Sprintf("list_transform(%s, lambda %s, cordwood_n: CASE WHEN cordwood_n = %s THEN %s ELSE %[2]s END)",
		list, item, index, inner)
	switch {
	case len(keys) > 1 || !create:
	case at < 0:
		elements = fmt.Sprintf("CASE WHEN len(%[1]s) < %[2]d THEN list_prepend(%[3]s, %[1]s) ELSE %[4]s END", list, -at, val,
			elements)
	default:
		elements = fmt.Sprintf("CASE WHEN len(%[1]s) <= %[2]d THEN list_append(%[1]s, %[3]s) ELSE %[4]s END", list, at, val,
			elements)
	}
	return "to_json(" + elements + ")"
}
