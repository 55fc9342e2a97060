package schema

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"cordwood/proto/errs"
)

// The maximum lengths of names, in bytes.
const (
	MaxNameBytes       = 128
	MaxColumnNameBytes = 1024
)

// The hidden column of tables that merge rows (append_mode=false). It is in no definition and in no
// answer to a query; batches and segments have it if it has a value. It determines the effect of a
// row on the older rows of its identity:
//
//	null   the rows are merged by the table's merge mode
//	true   the row of that identity is deleted; the other columns of this row have no meaning
//	false  like null, but older rows do not count: the row was written after a deletion
//
// Writers send null (or leave the column out) and true; the shard sets false when it joins a
// deletion with the rows written after it.
const (
	DeletedColumnID   = 0xFFFFFFFF
	DeletedColumnName = "__op_type"
)

// DeletedColumn returns the hidden column's definition.
func DeletedColumn() Column {
	return Column{ID: DeletedColumnID, Name: DeletedColumnName, Type: Boolean, Semantic: Field}
}

// Databases that the server creates itself. Clients cannot write to them.
const (
	PrivateDatabase = "svc_private"
	// AuditTable is the table with the audit records, in PrivateDatabase.
	AuditTable          = "audit"
	InformationDatabase = "information_schema"
	// CatalogDatabase is the database of PostgreSQL's catalog.
	CatalogDatabase = "pg_catalog"
	// DefaultDatabase exists from the beginning. Requests without a database use it.
	DefaultDatabase = "public"
)

// ReservedDatabase reports whether name is a database of the server's own.
func ReservedDatabase(name string) bool {
	return strings.EqualFold(name, PrivateDatabase) || strings.EqualFold(name, InformationDatabase) ||
		strings.EqualFold(name, CatalogDatabase)
}

// Charged returns the database whose quotas count a query that reads no tables of users, if its request names a
// database.
// Databases of the server have no quotas, so naming them would be a way around those of others.
func Charged(named string) string {
	if ReservedDatabase(named) {
		return DefaultDatabase
	}
	return named
}

// CheckTableName checks that a table may have the name: a letter, `_`, `:` or `-`,
// then also digits, `.`, `@` and `#`; at most MaxNameBytes bytes. Letters are ASCII letters. The
// error has code InvalidArguments.
func CheckTableName(name string) error {
	const rule = "a table name begins with a letter or one of _ : - and continues with these, digits or . @ #"
	return checkName("table", name, rule, func(c byte) bool {
		return isLetter(c) || c == '_' || c == ':' || c == '-'
	}, func(c byte) bool {
		return isLetter(c) || isDigit(c) || strings.IndexByte("_:-.@#", c) >= 0
	})
}

// CheckDatabaseName checks that a database may have the name: a letter or `_`, then also digits,
// `.` and `-`; at most MaxNameBytes bytes. It does not check for reserved names. The error has code
// InvalidArguments.
func CheckDatabaseName(name string) error {
	const rule = "a database name begins with a letter or _ and continues with these, digits or . -"
	return checkName("database", name, rule, func(c byte) bool {
		return isLetter(c) || c == '_'
	}, func(c byte) bool {
		return isLetter(c) || isDigit(c) || c == '_' || c == '.' || c == '-'
	})
}

func checkName(what, name, rule string, first, later func(byte) bool) error {
	if name == "" {
		return errs.New(errs.InvalidArguments, "Invalid %s name: it is empty", what)
	}
	if len(name) > MaxNameBytes {
		return errs.New(errs.InvalidArguments, "Invalid %s name: %s has %d bytes, at most %d are allowed", what,
			quoteShort(name), len(name), MaxNameBytes)
	}
	for i := range len(name) {
		if i == 0 && !first(name[i]) || i > 0 && !later(name[i]) {
			return errs.New(errs.InvalidArguments, "Invalid %s name: %s; %s", what, quoteShort(name), rule)
		}
	}
	return nil
}

// CheckColumnName checks that a column may have the name: any valid UTF-8 of 1 to
// MaxColumnNameBytes bytes, without the character NUL, that is not reserved. The
// error has code InvalidArguments.
func CheckColumnName(name string) error {
	switch {
	case name == "":
		return errs.New(errs.InvalidArguments, "Invalid column name: it is empty")
	case len(name) > MaxColumnNameBytes:
		return errs.New(errs.InvalidArguments, "Invalid column name: %s has %d bytes, at most %d are allowed",
			quoteShort(name), len(name), MaxColumnNameBytes)
	case !utf8.ValidString(name):
		return errs.New(errs.InvalidArguments, "Invalid column name: %s is not valid UTF-8", quoteShort(name))
	case strings.IndexByte(name, 0) >= 0:
		return errs.New(errs.InvalidArguments, "Invalid column name: %s contains a NUL character", quoteShort(name))
	case name == "__primary_key" || name == "__sequence" || name == DeletedColumnName:
		return errs.New(errs.InvalidArguments, "Invalid column name: %s is reserved for internal use", name)
	}
	return nil
}

// QuoteIdent quotes an identifier for SQL.
func QuoteIdent(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// QuoteLiteral quotes a string literal for SQL.
func QuoteLiteral(text string) string {
	return `'` + strings.ReplaceAll(text, `'`, `''`) + `'`
}

// quoteShort quotes client text for an error message, cut to a reasonable length.
func quoteShort(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}

// TableLabel returns the name of a table in messages: with its database unless that is the default one.
func TableLabel(database, table string) string {
	if database == DefaultDatabase {
		return table
	}
	return database + "." + table
}
