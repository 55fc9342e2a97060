package pipelineapi

import (
	"net/http"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/pipeline"
)

// DDL answers with the statement that creates the table for a pipeline.
func (h *Handlers) DDL(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	name, err := pathName(r)
	if err != nil {
		return nil, err
	}
	query, err := params.ParseOnce(r.URL.RawQuery, "table", "version", "db")
	if err != nil {
		return nil, err
	}
	table := query.Get("table")
	if table == "" {
		return nil, errs.New(errs.InvalidArguments, "table is required")
	}
	if err := schema.CheckTableName(table); err != nil {
		return nil, err
	}
	if name == ingest.IdentityPipeline {
		return nil, errs.New(errs.InvalidArguments, "the built-in pipeline %s has no fixed table schema: "+
			"its columns depend on the data; try it with POST /v1/pipelines/_dryrun", name)
	}
	version, has := query.Lookup("version")
	p, _, err := h.Compiled.Find(r.Context(), name, version, has)
	if err != nil {
		return nil, err
	}
	columns := p.Columns()
	if len(columns) == 0 {
		return nil, errs.New(errs.InvalidArguments, "pipeline %s has no transform list and so no fixed table schema: "+
			"its columns depend on the data; try it with POST /v1/pipelines/_dryrun", name)
	}
	t := &schema.Table{Name: table, Columns: columns, Options: map[string]string{schema.OptionAppendMode: "true"}}
	out := exchange.AppendJSONString([]byte(`"sql":{"sql":`), schema.CreateTableSQL(t))
	if message := h.ddlMessage(x, params.Database(r.Header, query, x.Caller.DefaultDatabase()), table, p); message != "" {
		out = exchange.AppendJSONString(append(out, `,"message":`...), message)
	}
	return append(out, '}'), nil
}

// ddlMessage describes how the tables that the pipeline creates may differ from the statement.
func (h *Handlers) ddlMessage(x *exchange.Exchange, database, table string, p *pipeline.Pipeline) string {
	var parts []string
	if _, ok := h.Catalog.Table(database, table); ok && x.Caller.Sees(database, table) {
		parts = append(parts, "Table "+table+" already exists in database "+database+": the statement would change nothing.")
	}
	if p.HasDispatcher() {
		parts = append(parts,
			"The pipeline has a dispatcher: records that match a rule go to other tables, with other columns.")
	}
	if p.HasTableSuffix() {
		parts = append(parts, "The pipeline has a table suffix: the names of its tables differ with the data.")
	}
	if p.OpenSchema() {
		parts = append(parts,
			"The pipeline keeps fields that are not in its transform list: the data may add columns.")
	}
	return strings.Join(parts, " ")
}
