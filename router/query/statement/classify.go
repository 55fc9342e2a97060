package statement

import "strings"

// engineWords begin a statement that the engine runs. It decides by its own
// parser whether the statement only reads.
var engineWords = map[string]bool{
	"SELECT": true, "WITH": true, "VALUES": true, "TABLE": true, "FROM": true,
	"SUMMARIZE": true, "PIVOT": true, "UNPIVOT": true,
}

// refusedWords begin a statement that is never run, with the reason.
var refusedWords = func() map[string]string {
	const (
		host    = "a query must not access the host: no files, extensions, settings or network"
		session = "there are no sessions, so there are no settings to change (except SET TIME ZONE, for the statements " +
			"behind it)"
		txn    = "there are no transactions"
		change = "rows cannot be changed in place"
		none   = "this kind of object does not exist"
	)
	m := map[string]string{
		"COPY": "COPY is not available over HTTP; to export rows send the SELECT with format=csv, ndjson, arrow or parquet",
		"USE": "USE has no effect over HTTP: " + session +
			"; name the database in the db parameter, the header x-svc-db-name, or as database.table; " +
			"cordwood sql takes --db DATABASE",
	}
	for reason, words := range map[string]string{
		host:    "ATTACH DETACH INSTALL LOAD FORCE PRAGMA EXPORT IMPORT CHECKPOINT VACUUM CALL",
		session: "SET RESET PREPARE EXECUTE DEALLOCATE",
		txn:     "BEGIN START COMMIT ROLLBACK ABORT END SAVEPOINT RELEASE LOCK",
		change:  "UPDATE MERGE REPLACE UPSERT",
		none:    "COMMENT REINDEX ANALYZE REFRESH DECLARE FETCH",
	} {
		for _, w := range strings.Fields(words) {
			m[w] = w + " is not available: " + reason
		}
	}
	return m
}()

// statement reads the statement that begins at tok.
func (p *parser) statement(at piece) Statement {
	first := p.tok
	if first.sym("(") {
		return &Query{Text: p.src[at.from:at.to]}
	}
	kw := ""
	if first.kind == word {
		kw = strings.ToUpper(first.val)
	}
	if engineWords[kw] {
		return &Query{Text: p.src[at.from:at.to]}
	}
	if kw == "SET" {
		if st := p.setTimeZone(); st != nil {
			return st
		}
	}
	if reason, ok := refusedWords[kw]; ok {
		p.refuse("%s", reason)
		return nil
	}
	p.advance()
	switch kw {
	case "EXPLAIN":
		return p.explain(at)
	case "SHOW":
		return p.show()
	case "DESC", "DESCRIBE":
		return p.describe(at)
	case "CREATE":
		return p.create()
	case "DROP":
		return p.drop()
	case "ALTER":
		return p.alter()
	case "TRUNCATE":
		return p.truncate()
	case "INSERT":
		return p.insert(at.from)
	case "DELETE":
		return p.delete(at)
	case "KILL":
		return p.kill()
	case "GRANT", "REVOKE":
		return p.grant(kw == "REVOKE")
	}
	p.stop(syntaxError(p.src, first.from,
		"expected a statement such as SELECT, SHOW, DESCRIBE, CREATE, ALTER, DROP, TRUNCATE, INSERT or DELETE %s",
		near(p.src, first)))
	return nil
}

// setTimeZone parses SET TIME ZONE 'zone' and SET time_zone = 'zone', also with SESSION or LOCAL. For another
// setting, it returns nil and consumes nothing.
func (p *parser) setTimeZone() Statement {
	save := *p
	p.advance()
	if !p.accept("SESSION") {
		p.accept("LOCAL")
	}
	if !p.accept("TIME", "ZONE") {
		if !p.accept("TIME_ZONE") && !p.accept("TIMEZONE") {
			*p = save
			return nil
		}
		if !p.acceptSym("=") {
			p.expect("TO")
		}
	}
	st := &SetTimeZone{}
	if !p.accept("DEFAULT") {
		st.Zone = p.textLiteral("a time zone in quotes, such as 'Europe/Berlin' or '+02:00'")
	}
	p.done()
	return st
}

// explain leaves EXPLAIN to the engine if the explained statement is the engine's.
func (p *parser) explain(at piece) Statement {
	p.accept("ANALYZE")
	if p.acceptSym("(") {
		// Options of the engine, such as (ANALYZE, FORMAT json), or the statement in parentheses.
		if p.tok.kind == word && !engineWords[strings.ToUpper(p.tok.val)] {
			for p.tok.kind != eof && !p.acceptSym(")") {
				p.advance()
			}
		}
	}
	if p.err != nil {
		return nil
	}
	if p.tok.kind == eof {
		p.expected("a SELECT to explain")
		return nil
	}
	if !p.tok.sym("(") && (p.tok.kind != word || !engineWords[strings.ToUpper(p.tok.val)]) {
		p.refuse("EXPLAIN is available for SELECT only (%s)", near(p.src, p.tok))
		return nil
	}
	return &Query{Text: p.src[at.from:at.to]}
}

func (p *parser) show() Statement {
	full := p.accept("FULL")
	switch {
	case !full && (p.accept("DATABASES") || p.accept("SCHEMAS")):
		s := &ShowDatabases{Like: p.like(), Page: p.page()}
		p.done()
		return s
	case p.accept("TABLES"):
		return p.showTables(full)
	case !full && p.accept("CREATE", "TABLE"):
		s := &ShowCreateTable{Name: p.tableName()}
		p.done()
		return s
	case !full && (p.accept("CREATE", "DATABASE") || p.accept("CREATE", "SCHEMA")):
		s := &ShowCreateDatabase{Database: p.name("a database name")}
		p.done()
		return s
	case p.accept("COLUMNS") || p.accept("FIELDS"):
		return p.showColumns()
	case !full && p.accept("USERS"):
		return p.showPrincipals(false)
	case !full && p.accept("ROLES"):
		return p.showPrincipals(true)
	case !full && p.accept("GRANTS"):
		return p.showGrants()
	case !full && p.accept("ACCESS", "TO"):
		return p.showAccess()
	case !full && p.accept("TOKENS"):
		return p.showTokens()
	case !full && p.accept("QUOTAS"):
		s := &ShowQuotas{Like: p.like(), Page: p.page()}
		p.done()
		return s
	}
	p.expected("DATABASES, TABLES, COLUMNS, USERS, ROLES, GRANTS, ACCESS TO, TOKENS, QUOTAS, CREATE TABLE or " +
		"CREATE DATABASE")
	return nil
}

func (p *parser) showTables(full bool) Statement {
	s := &ShowTables{Full: full}
	if p.accept("FROM") || p.accept("IN") {
		s.Database = p.name("a database name")
	}
	s.Like = p.like()
	s.Page = p.page()
	p.done()
	return s
}

func (p *parser) showColumns() Statement {
	if !p.accept("FROM") && !p.accept("IN") {
		p.expected("FROM and a table name")
	}
	s := &Describe{Name: p.tableName()}
	if p.err == nil && s.Name.Database == "" && (p.accept("FROM") || p.accept("IN")) {
		s.Name.Database = p.name("a database name")
	}
	p.done()
	return s
}

func (p *parser) describe(at piece) Statement {
	if p.tok.sym("(") || p.tok.kind == word && engineWords[strings.ToUpper(p.tok.val)] && !p.tok.is("TABLE") {
		return &DescribeQuery{Text: p.src[p.tok.from:at.to]}
	}
	p.accept("TABLE")
	s := &Describe{Name: p.tableName()}
	p.done()
	return s
}

// kill parses KILL [QUERY] 'id'.
func (p *parser) kill() Statement {
	p.accept("QUERY")
	at := p.tok
	s := &Kill{ID: p.textLiteral("the query_id of svc_private.queries in quotes")}
	if p.err == nil && s.ID == "" {
		p.stop(syntaxError(p.src, at.from, "KILL needs the id of a query: the column query_id of svc_private.queries has "+
			"the ids of running queries. The text is empty"))
	}
	p.done()
	return s
}
