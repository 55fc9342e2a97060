package rewrite

import (
	"fmt"
	"regexp"
	"strings"
)

// matchRows returns a list of the lists that regexp_matches returns as rows: the groups of each match, or the match
// itself if the pattern has no groups. ok is false if the arguments are not literals.
func matchRows(args []string) (list string, ok bool) {
	if len(args) < 2 || len(args) > 3 {
		return "", false
	}
	pattern, ok := literalOf(args[1])
	if !ok {
		return "", false
	}
	re, err := regexp.Compile(enginePattern(pattern))
	if err != nil || re.NumSubexp() > maxGroups {
		return "", false
	}
	flags := ""
	if len(args) == 3 {
		if flags, ok = literalOf(args[2]); !ok || strings.Trim(flags, "gi") != "" {
			return "", false
		}
	}
	literal, option := quote(enginePattern(pattern)), ""
	if strings.Contains(flags, "i") {
		option = ", 'i'"
	}
	first, last := min(1, re.NumSubexp()), re.NumSubexp()
	var groups []string
	if !strings.Contains(flags, "g") {
		for n := first; n <= last; n++ {
			groups = append(groups, fmt.Sprintf("regexp_extract(cordwood_x, %s, %d%s)", literal, n, option))
		}
		return fmt.Sprintf("list_transform([%s], lambda cordwood_x: CASE WHEN regexp_matches(cordwood_x, %s%s) THEN [[%s]] "+
			"END)[1]", args[0], literal, option, strings.Join(groups, ", ")), true
	}
	for n := first; n <= last; n++ {
		groups = append(groups, fmt.Sprintf("regexp_extract_all(cordwood_x, %s, %d%s)[cordwood_n]", literal, n, option))
	}
	return fmt.Sprintf("list_transform([%s], lambda cordwood_x: list_transform(regexp_extract_all(cordwood_x, %s, 0%s), "+
		"lambda cordwood_m, cordwood_n: [%s]))[1]", args[0], literal, option, strings.Join(groups, ", ")), true
}

// regexpMatches rewrites regexp_matches in a select list, where it returns a row for each match. In a condition, where
// PostgreSQL refuses it, it is the engine's function, which returns whether the pattern matches.
func regexpMatches(r *rewriter, args []string) (string, bool) {
	if !r.inSelectList() && !r.subscripted() {
		return withPattern(renamed("regexp_matches"))(r, args)
	}
	list, ok := matchRows(args)
	if !ok {
		return "", r.refuse("regexp_matches needs a literal pattern with at most "+itoa(maxGroups)+" groups, and no flags "+
			"but g and i; write regexp_extract(x, pattern, group) for a group of the first match", 0)
	}
	return "unnest(" + list + ")", true
}

// subscripted reports whether a call in brackets with a subscript follows, as in SELECT (f(x))[1].
func (r *rewriter) subscripted() bool {
	n := len(r.out)
	if n < 2 || !r.out[n-1].sym("(") || !r.out[n-2].word("SELECT") && !r.out[n-2].sym(",") {
		return false
	}
	end := r.closingBracket(1)
	return end > 0 && r.at(end+1).sym(")") && r.at(end+2).sym("[")
}

// matchTable rewrites regexp_matches in FROM, whose name is n tokens ahead.
func (r *rewriter) matchTable(n int) bool {
	end := r.closingBracket(n + 1)
	if end < 0 {
		return false
	}
	list, ok := matchRows(r.arguments(n+2, end))
	if !ok {
		return r.refuse("regexp_matches in FROM needs a literal pattern with at most "+itoa(maxGroups)+
			" groups, and no flags but g and i", n)
	}
	k := end + 1
	if r.at(k).word("AS") {
		k++
	}
	alias, column := "regexp_matches", ""
	if t := r.at(k); t.isName() && !afterTable[strings.ToUpper(t.val)] {
		alias, column = t.text, t.text
		if k++; r.at(k).sym("(") && r.at(k+1).isName() && r.at(k+2).sym(")") {
			column = r.at(k + 1).text
			k += 3
		}
	} else {
		k, column = end+1, alias
	}
	r.raw(r.at(0), "(SELECT unnest("+list+") AS "+column+") AS "+alias)
	r.i += k
	return true
}
