package sql

import (
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// options returns the completions of an option of a table or database, or of its value, after SET, UNSET or WITH ( in
// ALTER and CREATE. Elsewhere it returns nil. typed is the text typed so far, with its quote.
func options(typed string, tokens []statement.Token) []string {
	begin := optionsBegin(tokens)
	if begin < 0 {
		return nil
	}
	database := isWord(tokens[1], "DATABASE")
	part := tokens[begin+1:]
	for i, t := range slices.Backward(part) {
		if t.Value == "," && t.Kind == statement.TokenSymbol {
			part = part[i+1:]
			break
		}
	}
	var list []string
	switch {
	case len(part) == 0:
		end := " = "
		if isWord(tokens[begin], "UNSET") {
			end = ""
		}
		for _, name := range optionsOf(database) {
			list = append(list, "'"+name+"'"+end)
		}
	case len(part) == 2 && part[1].Value == "=":
		for _, value := range schema.OptionValues(part[0].Value) {
			list = append(list, "'"+value+"'")
		}
	}
	return beginning("'"+strings.TrimPrefix(typed, "'"), list)
}

// optionsOf returns the options that a table or a database can have.
func optionsOf(database bool) []string {
	if database {
		return []string{schema.OptionTTL}
	}
	return schema.TableOptionNames()
}

// optionsBegin returns the index of SET, of UNSET, or of the parenthesis after WITH, which options follow. It returns
// -1 if tokens are not such a statement.
func optionsBegin(tokens []statement.Token) int {
	if len(tokens) < 3 || !isWord(tokens[0], "ALTER", "CREATE") || !isWord(tokens[1], "TABLE", "DATABASE") {
		return -1
	}
	for i, t := range slices.Backward(tokens) {
		switch {
		case isWord(t, "SET", "UNSET") && isWord(tokens[0], "ALTER") && i > 2:
			if slices.ContainsFunc(tokens[:i], func(t statement.Token) bool { return isWord(t, "COLUMN") }) {
				return -1 // MODIFY COLUMN c SET … INDEX
			}
			return i
		case t.Value == "(" && t.Kind == statement.TokenSymbol:
			if i > 2 && isWord(tokens[i-1], "WITH") {
				return i
			}
			return -1
		}
	}
	return -1
}

// beginning returns the names that begin with the typed text.
func beginning(typed string, list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return !strings.HasPrefix(s, strings.ToLower(typed)) })
}
