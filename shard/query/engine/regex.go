package engine

import (
	"regexp/syntax"
	"strings"

	"cordwood/proto/errs"
)

// regex checks a call that may be one of the operators ~, !~, ~* and !~*. The engine
// has the first two, as a match of the whole text; here, as in other databases, they
// look for the pattern anywhere in it, and with a star they ignore case.
func (w *walker) regex(name string, n node) error {
	at, ok := position(n)
	if !ok {
		at, ok = w.notAt, w.notAt >= 0 // of !~, the engine gives the position to a NOT around it
	}
	if !ok || !strings.HasPrefix(w.st.sql[at:], "~") && !strings.HasPrefix(w.st.sql[at:], "!~") {
		return nil // a call of the function, or SIMILAR TO
	}
	operator := w.st.sql[at : at+strings.Index(w.st.sql[at:], "~")+1]
	list := args(n)
	if len(list) != 2 {
		return nil
	}
	pattern, _ := list[1].(node)
	value, _ := pattern["value"].(node)
	if null, _ := value["is_null"].(bool); text(pattern, "class") == "CONSTANT" && null {
		if strings.HasSuffix(name, "*") {
			w.st.texts = append(w.st.texts, edit{from: at + len(operator), to: at + len(operator) + 1, text: " "})
		}
		return nil
	}
	from, known := position(pattern)
	given, isText := textLiteral(pattern)
	if !isText || !known {
		return errs.New(errs.PlanQuery,
			"the pattern of %s at position %d must be a literal text; use regexp_matches(text, pattern) for others", operator, w.st.clientPosition(at))
	}
	if _, err := syntax.Parse(given, syntax.Perl); err != nil {
		return errs.New(errs.InvalidArguments, "the pattern of %s at position %d: %s", operator, w.st.clientPosition(from), err)
	}
	flags := ""
	if strings.HasSuffix(name, "*") {
		flags = "i"
		w.st.texts = append(w.st.texts, edit{from: at + len(operator), to: at + len(operator) + 1, text: " "})
	}
	w.st.texts = append(w.st.texts, edit{
		from: from, to: skipLiteral(w.st.sql, from), text: quoteText("(?s:.*)(?" + flags + ":" + given + ")(?s:.*)"),
	})
	return nil
}
