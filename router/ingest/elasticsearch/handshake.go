package elasticsearch

import (
	"net/http"
	"strconv"
	"strings"

	"cordwood/router/httpapi/exchange"
)

// clusterID is the id of the cluster and of its only node. Clients compare it between answers.
const clusterID = "cordwoodcordwoodcordwo"

// Info answers with the version of Elasticsearch.
func (d *Receiver) Info(w http.ResponseWriter, r *http.Request) {
	out := append([]byte(`{"name":"cordwood","cluster_name":"cordwood","cluster_uuid":"`+clusterID+
		`","version":{"number":`),
		exchange.AppendJSONString(nil, d.Version)...)
	write(w, r, http.StatusOK, append(out,
		`,"build_flavor":"default","build_type":"tar","build_snapshot":false,"lucene_version":"9.12.0",`+
			`"minimum_wire_compatibility_version":"7.17.0","minimum_index_compatibility_version":"7.0.0"},"tagline":"You `+
			`Know, for Search"}`...))
}

// license is in the answers of License and XPack.
const license = `{"status":"active","uid":"` + clusterID +
	`","type":"basic","mode":"basic","issue_date":"2024-01-01T00:00:00.000Z",` +
	`"issue_date_in_millis":1704067200000,"max_nodes":1000,"max_resource_units":null,"issued_to":"cordwood",` +
	`"issuer":"cordwood","start_date_in_millis":-1}`

// License answers with a license that does not expire.
func (d *Receiver) License(w http.ResponseWriter, r *http.Request) {
	write(w, r, http.StatusOK, []byte(`{"license":`+license+`}`))
}

// XPack answers with the features that clients may set up. They have no effect here.
func (d *Receiver) XPack(w http.ResponseWriter, r *http.Request) {
	write(w, r, http.StatusOK, []byte(`{"build":{"hash":"unknown","date":"2024-01-01T00:00:00.000Z"},"license":`+license+
		`,"features":{"ilm":{"available":true,"enabled":true},"security":{"available":true,"enabled":true}},"tagline":"You `+
		`know, for X"}`))
}

// Nodes answers with one node, whose address is the one that the client used.
func (d *Receiver) Nodes(w http.ResponseWriter, r *http.Request) {
	address := exchange.AppendJSONString(nil, r.Host)
	out := []byte(`{"_nodes":{"total":1,"successful":1,"failed":0},"cluster_name":"cordwood","nodes":{"` + clusterID +
		`":{"name":"cordwood","version":`)
	out = append(append(out, exchange.AppendJSONString(nil, d.Version)...),
		`,"roles":["data","ingest","master"],"http":{"bound_address":[`...)
	out = append(append(append(out, address...), `],"publish_address":`...), address...)
	write(w, r, http.StatusOK, append(out, `}}}}`...))
}

// Health answers that the cluster is healthy. If documents cannot be stored, they are refused instead.
func (d *Receiver) Health(w http.ResponseWriter, r *http.Request) {
	write(w, r, http.StatusOK,
		[]byte(`{"cluster_name":"cordwood","status":"green","timed_out":false,"number_of_nodes":1,"number_of_data_nodes":1,`+
			`"active_primary_shards":1,"active_shards":1,"relocating_shards":0,"initializing_shards":0,"unassigned_shards":0,`+
			`"active_shards_percent_as_number":100.0}`))
}

// CatHealth answers as Health does, in the text form that rsyslog requests.
func (d *Receiver) CatHealth(w http.ResponseWriter, r *http.Request) {
	begin(w, r)
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	x := exchange.Of(r)
	if _, asked := r.URL.Query()["format"]; asked {
		write(w, r, http.StatusOK,
			[]byte(`[{"cluster":"cordwood","status":"green","node.total":"1","node.data":"1","shards":"1","pri":"1"}]`))
		return
	}
	_, _ = w.Write([]byte(strconv.FormatInt(x.Start.Unix(), 10) + " " + x.Start.UTC().Format("15:04:05") +
		" cordwood green 1 1 1 1 0 0 0 0 - 100.0%\n"))
}

// SetUp answers requests by which clients set up templates, policies, pipelines and indexes before they send
// documents. It acknowledges them and stores nothing, because tables and columns are created from the documents.
// Each path is logged once.
func (d *Receiver) SetUp(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		write(w, r, http.StatusOK, []byte(`{}`))
		return
	}
	if d.Log != nil && d.first(r.URL.Path) {
		d.Log.InfoContext(r.Context(), "the set-up of an Elasticsearch client is acknowledged but not stored: tables "+
			"are created from "+
			"the documents, and options are set with x-svc-hints or ALTER TABLE", "method", r.Method, "path", clip(r.URL.Path),
			"client", clip(r.UserAgent()))
	}
	write(w, r, http.StatusOK, []byte(`{"acknowledged":true,"shards_acknowledged":true}`))
}

const (
	// maxLogged limits the number of paths that are logged, and maxShown the length of a client's text in the log.
	maxLogged = 1000
	maxShown  = 200
)

// first reports whether a path has not been logged yet. After maxLogged paths it always returns false.
func (d *Receiver) first(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	path = clip(path)
	if d.logged[path] || len(d.logged) >= maxLogged {
		return false
	}
	d.logged[path] = true
	return true
}

func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxShown)], "\uFFFD") }

// Refresh answers requests to make documents searchable, as pino-elasticsearch sends them. Documents are searchable as
// soon as their request is answered.
func (d *Receiver) Refresh(w http.ResponseWriter, r *http.Request) {
	write(w, r, http.StatusOK, []byte(`{"_shards":{"total":1,"successful":1,"failed":0}}`))
}
