package schema

import (
	"strings"

	"cordwood/proto/errs"
)

// ParseTableName parses TABLE or DATABASE.TABLE, as users write it outside of SQL: on the command
// line and in requests about tables. A name with a dot must be in double quotes, and a double quote
// in such a name is written twice. database is empty if the text has none. It does not check the
// characters of the names.
func ParseTableName(text string) (database, table string, err error) {
	var parts []string
	rest := text
	for {
		var part string
		var ok bool
		if part, rest, ok = cutNamePart(rest); !ok || part == "" {
			return "", "", errs.New(errs.InvalidArguments, "%s is not a name of a table: write TABLE or DATABASE.TABLE",
				quoteShort(text))
		}
		parts = append(parts, part)
		if rest == "" {
			break
		}
		rest = rest[1:]
	}
	switch len(parts) {
	case 1:
		return "", parts[0], nil
	case 2:
		return parts[0], parts[1], nil
	}
	return "", "",
		errs.New(errs.InvalidArguments,
			`%s has more than one dot: quote names that have dots, as in "my.database"."my.table"`, quoteShort(text))
}

// cutNamePart removes the first part of a name. rest is empty or starts with a dot.
func cutNamePart(text string) (part, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text, '.')
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], !strings.Contains(text[:end], `"`)
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '"':
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == '"':
			b.WriteByte('"')
			i++
		default:
			rest = text[i+1:]
			return b.String(), rest, rest == "" || rest[0] == '.'
		}
	}
	return "", "", false
}

// FormatTableName writes DATABASE.TABLE so that ParseTableName can read it.
func FormatTableName(database, table string) string {
	quote := func(name string) string {
		if strings.ContainsAny(name, `."`) || name == "" {
			return QuoteIdent(name)
		}
		return name
	}
	return quote(database) + "." + quote(table)
}
