package pgwire

import (
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// copyFormat has the options of COPY.
type copyFormat struct {
	name       string // text, csv or binary
	delimiter  byte
	null       string
	quote      byte
	escape     byte
	header     bool
	match      bool // the names in the header must be those of the columns
	forceAll   bool
	forceQuote []string
}

// runCopy runs COPY table [(columns)] or COPY (query), TO STDOUT or FROM STDIN.
func runCopy(e *executor, s *scanner) (*outcome, error) {
	source, err := copySource(s)
	if err != nil {
		return nil, err
	}
	to := s.accept("TO")
	if !to && (!s.accept("FROM") || source.query != "") {
		return nil, s.syntaxError()
	}
	if !s.accept("STDOUT") && !s.accept("STDIN") { // PostgreSQL takes both in both directions, and PHP sends TO STDIN
		return nil, unsupported("COPY is available for STDIN and STDOUT: the server opens no files and starts no programs").
			withHint("use \\copy of psql for files of the client")
	}
	f, err := copyOptions(s)
	if err != nil {
		return nil, err
	}
	if to && f.match {
		return nil, unsupported(`cannot use "match" with HEADER in COPY TO`)
	}
	if to {
		return e.copyTo(source, f)
	}
	return e.copyFrom(source, f)
}

// copied is the table or the query to copy.
type copied struct {
	table   statement.Name
	columns []string
	query   string
	before  *string // the text before the query; nil for a table
}

func copySource(s *scanner) (src copied, err error) {
	if s.symbol("(") {
		from := s.at
		for depth := 1; ; s.at++ {
			if s.end() {
				return src, s.syntaxError()
			}
			if t := s.toks[s.at]; t.Kind == statement.TokenSymbol && t.Value == "(" {
				depth++
			} else if t.Kind == statement.TokenSymbol && t.Value == ")" {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if s.at == from {
			return src, s.syntaxError()
		}
		src.query = s.text[s.toks[from].From:s.toks[s.at-1].To]
		before := s.text[:s.toks[from].From]
		src.before = &before
		s.at++
		return src, nil
	}
	name, ok := s.exactName()
	if !ok {
		return src, s.syntaxError()
	}
	src.table.Table = name
	if s.symbol(".") {
		src.table.Database = name
		if src.table.Table, ok = s.exactName(); !ok {
			return src, s.syntaxError()
		}
	}
	if s.symbol("(") {
		for !s.symbol(")") {
			name, ok := s.exactName()
			if !ok {
				return src, s.syntaxError()
			}
			src.columns = append(src.columns, name)
			s.symbol(",")
		}
	}
	return src, nil
}

// exactName reads a name and keeps its case.
func (s *scanner) exactName() (string, bool) {
	if s.end() {
		return "", false
	}
	switch t := s.toks[s.at]; t.Kind {
	case statement.TokenWord, statement.TokenName:
		s.at++
		return t.Value, true
	}
	return "", false
}

// copyOptions reads the options of COPY in the current syntax, (FORMAT csv, …), or in the old one, CSV HEADER ….
func copyOptions(s *scanner) (*copyFormat, error) {
	given := map[string]string{}
	f := &copyFormat{}
	s.accept("WITH")
	var err error
	if s.symbol("(") {
		err = f.newOptions(s, given)
	} else {
		err = f.oldOptions(s, given)
	}
	if err != nil {
		return nil, err
	}
	if err := s.done(); err != nil {
		return nil, err
	}
	return f, f.apply(given)
}

func (f *copyFormat) newOptions(s *scanner, given map[string]string) error {
	for !s.symbol(")") {
		name, ok := s.name()
		if !ok {
			return s.syntaxError()
		}
		switch {
		case name == "force_quote" && s.symbol("*"):
			f.forceAll = true
		case s.symbol("("):
			for !s.symbol(")") {
				column, ok := s.exactName()
				if !ok {
					return s.syntaxError()
				}
				f.forceQuote = append(f.forceQuote, column)
				s.symbol(",")
			}
		case !s.end() && (s.toks[s.at].Value == "," || s.toks[s.at].Value == ")") &&
			s.toks[s.at].Kind == statement.TokenSymbol:
			given[name] = "true"
		case !s.end():
			given[name] = s.toks[s.at].Value
			s.at++
		default:
			return s.syntaxError()
		}
		s.symbol(",")
	}
	return nil
}

func (f *copyFormat) oldOptions(s *scanner, given map[string]string) error {
	text := func(name string) error {
		s.accept("AS")
		if s.end() || s.toks[s.at].Kind != statement.TokenText {
			return s.syntaxError()
		}
		given[name] = s.toks[s.at].Value
		s.at++
		return nil
	}
	var err error
	for err == nil && !s.end() {
		switch {
		case s.accept("BINARY"):
			given["format"] = "binary"
		case s.accept("CSV"):
			given["format"] = "csv"
		case s.accept("HEADER"):
			given["header"] = "true"
		case s.accept("FORCE", "QUOTE"):
			f.forceAll = s.symbol("*")
			for column, ok := s.exactName(); ok; column, ok = s.exactName() {
				f.forceQuote = append(f.forceQuote, column)
				s.symbol(",")
			}
		case s.accept("DELIMITER"), s.accept("DELIMITERS"):
			err = text("delimiter")
		case s.accept("NULL"):
			err = text("null")
		case s.accept("QUOTE"):
			err = text("quote")
		case s.accept("ESCAPE"):
			err = text("escape")
		case s.accept("ENCODING"):
			err = text("encoding")
		default:
			err = s.syntaxError()
		}
	}
	return err
}

// apply sets the given options and the defaults of the format.
func (f *copyFormat) apply(given map[string]string) error {
	f.name = strings.ToLower(orElse(given["format"], "text"))
	switch f.name {
	case "text":
		f.delimiter, f.null = '\t', `\N`
	case "csv":
		f.delimiter, f.quote = ',', '"'
	case "binary":
	default:
		return failure("22023", "COPY format %q not recognized", excerpt(f.name)).
			withHint("use text, csv or binary")
	}
	for name, val := range given {
		if err := f.option(name, val); err != nil {
			return err
		}
	}
	if f.escape == 0 {
		f.escape = f.quote
	}
	if f.name == "csv" && f.delimiter == f.quote {
		return failure("22023", "COPY delimiter and quote must be different")
	}
	return nil
}

func (f *copyFormat) option(name, val string) error {
	one := func(into *byte, formats string) error {
		if len(val) != 1 || val == "\n" || val == "\r" || !strings.Contains(formats, f.name) {
			return failure("0A000", "COPY %s must be a single one-byte character, and goes with format %s", name, formats)
		}
		*into = val[0]
		return nil
	}
	switch name {
	case "format":
		return nil
	case "delimiter":
		return one(&f.delimiter, "text or csv")
	case "quote":
		return one(&f.quote, "csv")
	case "escape":
		return one(&f.escape, "csv")
	case "null":
		if strings.ContainsAny(val, "\r\n") || f.name == "binary" {
			return failure("22023", "COPY null representation cannot use newline or carriage return")
		}
		f.null = val
		return nil
	case "header":
		v, err := truth("header")(nil, val)
		if strings.EqualFold(val, "match") {
			v, err, f.match = "on", nil, true
		}
		if err != nil {
			return err
		}
		f.header = v == "on"
		return nil
	case "encoding":
		if _, err := setEncoding(nil, val); err != nil {
			return err
		}
		return nil
	case "freeze", "force_not_null", "force_null", "on_error", "log_verbosity", "default":
		return unsupported("COPY option %s is not available", name)
	}
	return failure("42601", "option %q not recognized", excerpt(name))
}

// copyTo starts COPY … TO STDOUT.
func (e *executor) copyTo(src copied, f *copyFormat) (*outcome, error) {
	text := src.query
	if text == "" {
		list := "*"
		if len(src.columns) > 0 {
			quoted := make([]string, len(src.columns))
			for i, name := range src.columns {
				quoted[i] = schema.QuoteIdent(name)
			}
			list = strings.Join(quoted, ", ")
		}
		text = "SELECT " + list + " FROM " + tableText(src.table)
	}
	cmd := newCommand(text)
	if cmd.session != nil { // this includes another COPY
		return nil, failure("42601", "COPY needs a query with rows")
	}
	out, err := e.run(cmd)
	if err != nil {
		return nil, within(err, src.before)
	}
	if out.rows == nil {
		return nil, failure("42601", "COPY needs a query with rows")
	}
	return &outcome{tag: "COPY %d", copyOut: &copyOut{f: f, rows: out.rows}}, nil
}

// tableText formats the name of a table as SQL.
func tableText(name statement.Name) string {
	if name.Database == "" {
		return schema.QuoteIdent(name.Table)
	}
	return schema.QuoteIdent(name.Database) + "." + schema.QuoteIdent(name.Table)
}

// code returns the format code for the messages of COPY.
func (f *copyFormat) code() value.Format {
	if f.name == "binary" {
		return value.FormatBinary
	}
	return value.FormatText
}
