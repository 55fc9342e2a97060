package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"cordwood/cmd/cordwood/client"
	"cordwood/proto/schema"
)

// search prints and runs the SQL of a search of a table.
func (p *prompt) search(ctx context.Context, argument string) error {
	table, text, _ := cutTable(argument)
	if table == "" {
		return errors.New(`give the table and the search text, such as \search app level:error "disk full"`)
	}
	db, name, err := schema.ParseTableName(table)
	if err != nil {
		return err
	}
	if db == "" {
		db = p.session.db
	}
	statement, err := p.session.compileSearch(ctx, db, name, text)
	if err != nil {
		p.failed(err)
		return nil
	}
	fmt.Fprintln(p.session.errOut, statement)
	p.run(ctx, statement)
	return nil
}

// cutTable separates the name of a table from the search text after it. Parts of the name may be in quotes.
func cutTable(argument string) (table, text string, found bool) {
	quoted := false
	for i, c := range argument {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ' ' && !quoted:
			return argument[:i], strings.TrimSpace(argument[i:]), true
		}
	}
	return argument, "", false
}

// compileSearch returns the SQL of a search, which the server computes.
func (s *sqlSession) compileSearch(ctx context.Context, db, table, text string) (string, error) {
	body, err := json.Marshal(map[string]any{"db": db, "tables": []string{table}, "query": text})
	if err != nil {
		return "", err
	}
	resp, err := s.client.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/explore/compile", Body: body, Reads: true,
		Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		SQL string `json:"sql"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return "", fmt.Errorf("reading the statement of a search: %w", err)
	}
	return answer.SQL, nil
}
