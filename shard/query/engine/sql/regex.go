package sql

import (
	"regexp/syntax"
	"strings"

	"cordwood/proto/errs"
)

// regex checks a call that may be one of the operators ~, !~, ~* and !~*. DuckDB's ~ and !~ match
// the whole text. Here, as in other databases, they search for the pattern anywhere in the text,
// and with a star they ignore case.
func (w *walker) regex(name string, n Node) error {
	at, ok := Position(n)
	if !ok {
		at, ok = w.notAt, w.notAt >= 0 // for !~, DuckDB assigns the position to a NOT around it
	}
	if !ok || !strings.HasPrefix(w.st.SQL[at:], "~") && !strings.HasPrefix(w.st.SQL[at:], "!~") {
		return nil // a call of the function, or SIMILAR TO
	}
	operator := w.st.SQL[at : at+strings.Index(w.st.SQL[at:], "~")+1]
	list := Args(n)
	if len(list) != 2 {
		return nil
	}
	pattern, _ := list[1].(Node)
	value, _ := pattern["value"].(Node)
	if null, _ := value["is_null"].(bool); Text(pattern, "class") == "CONSTANT" && null {
		if strings.HasSuffix(name, "*") {
			w.st.texts = append(w.st.texts, Edit{From: at + len(operator), To: at + len(operator) + 1, Text: " "})
		}
		return nil
	}
	from, known := Position(pattern)
	given, isText := TextLiteral(pattern)
	if !isText || !known {
		return errs.New(errs.PlanQuery,
			"the pattern of %s must be a literal text; use regexp_matches(text, pattern) for other patterns (position %d)",
			operator, w.st.clientPosition(at))
	}
	if _, err := syntax.Parse(given, syntax.Perl); err != nil {
		return errs.New(errs.InvalidArguments, "the pattern of %s is not valid: %s (position %d)",
			operator, err, w.st.clientPosition(from))
	}
	flags := ""
	if strings.HasSuffix(name, "*") {
		flags = "i"
		w.st.texts = append(w.st.texts, Edit{From: at + len(operator), To: at + len(operator) + 1, Text: " "})
	}
	w.st.texts = append(w.st.texts, Edit{
		From: from, To: SkipLiteral(w.st.SQL, from), Text: QuoteText("(?s:.*)(?" + flags + ":" + given + ")(?s:.*)"),
	})
	return nil
}
