package webtest

import (
	"strings"
	"testing"
)

// state is something that the page shows: a page, a dialog, a menu, or an error.
type state struct {
	name string
	path string
	// answers is a script that replaces answers of the server: see answering.
	answers string
	// steps are selectors to click, or keys to press ("key x"), in order.
	steps []string
	// there selects an element that is on the screen afterwards.
	there string
}

// answering returns a script that replaces the page's fetch. Requests whose path ends with the given
// text get the status and the body. Status 0 means no answer, and 1 an answer that never arrives.
func answering(path, status, body string) string {
	answer := `Promise.resolve(new Response(JSON.stringify(` + body + `), {status: ` + status + `}))`
	switch status {
	case "0":
		answer = `Promise.reject(new TypeError('no answer'))`
	case "1":
		answer = `new Promise((_, no) => how.signal?.addEventListener('abort', () => no(new DOMException('', 'AbortError'))))`
	}
	return `{ const ask = window.fetch; window.fetch = (path, how) =>
		String(path).split('?')[0].endsWith(` + quote(path) + `) ? ` + answer + ` : ask(path, how); }`
}

// anyRow and the others find what most states wait for.
const (
	anyRow   = `[data-ui=row]`
	anyError = `[data-ui=error]`
	anyEmpty = `[data-ui=empty]`
	dialog   = `dialog[open]`
	panel    = `.panel`
)

// degraded is a cluster that has lost a node.
const degraded = `{health: 'degraded', failure_tolerance: 0, limited_by: 'shard 1', replication: 2,
	problems: [{severity: 'critical', text: 'Node b does not answer.', advice: 'Start it again.', actions: [
	{kind: 'node-add'}, {kind: 'node-decommission', node: 'b'}]}, {severity: 'info', text: 'Note.', advice: 'Read it.'}],
	nodes: [{id: 1, name: 'a', state: 'up',
	roles: ['router', 'meta', 'shard'], meta: 'leader', replicas: 1, leads: 1, disk_used: 90, disk_capacity: 100,
	version: '1'}, {id: 2, name: 'b', state: 'down', silent_seconds: 60, roles: ['shard'], meta: '', replicas: 1,
	leads: 0, disk_used: 1, disk_capacity: 100, version: '1'}], shards: [{id: 1, leader: 'a', replicas: ['a', 'b'],
	learners: [], unready: ['b'], lag: 12, bytes: 1000, state: 'short'}], operations: [{id: '1', kind: 'shard-move',
	state: 'running', step: 'copies', total_bytes: 100, done_bytes: 40, requested_by: 'ann'}]}`

// states are those of all pages. The server has the tables app, other and svc_private.rejects, and the pipeline mine.
var states = []state{
	{name: "explore", path: "explore?t=app", there: anyRow},
	{name: "row", path: "explore?t=app&q=failed", steps: []string{anyRow}, there: `[data-ui=detail]`},
	{
		name: "context", path: "explore?t=app", steps: []string{anyRow, `.acts [data-ui=context]`},
		there: `section[data-ui=context] [data-ui=context-row]`,
	},
	{name: "wrapped", path: "explore?t=app&wrap=1&cols=host", there: anyRow},
	{name: "selected", path: "explore?t=app", steps: []string{anyRow, "key J", "key J"}, there: `.row.picked`},
	{name: "difference of rows", path: "explore?t=app", steps: []string{anyRow, "key J", "key d"}, there: dialog},
	{name: "columns", path: "explore?t=app&cols=host", steps: []string{`[data-ui=columns]`}, there: panel},
	{
		name: "numbers", path: "explore?t=app", steps: []string{`[data-ui=field][data-name=took] button`},
		there: `[data-ui=number-facet]`,
	},
	{
		name: "partial", path: "explore?t=app", there: `[data-ui=partial]`,
		answers: answering("/explore/facets", "200", `{partial: {shards: ['shard 2']}, fields: [], rows: 1}`),
	},
	{name: "patterns", path: "explore?t=app&view=patterns", there: `[data-ui=pattern]`},
	{name: "compare", path: "explore?t=app&view=compare&by=host", there: `.compared`},
	{name: "wrong search", path: "explore?t=app&q=lvel:x", there: anyError},
	{name: "nothing found", path: "explore?t=app&q=nothinglikeit", there: anyEmpty},
	{name: "no such table", path: "explore?t=gone", there: anyError},
	{name: "loading", path: "explore?t=app", answers: answering("/explore/rows", "1", "0"), there: `[data-ui=cancel]`},
	{
		name: "rows fail", path: "explore?t=app", there: anyError,
		answers: answering("/explore/rows", "500", `{code: 1003, error: 'the disk is full'}`),
	},
	{
		name: "histogram fails", path: "explore?t=app", there: anyError,
		answers: answering("/explore/hits", "500", `{code: 1003, error: 'the disk is full'}`),
	},
	{
		name: "too many", path: "explore?t=app", there: anyError,
		answers: answering("/explore/rows", "429", `{code: 6000, error: 'too many queries'}`),
	},
	{
		name: "no rights", path: "explore?t=app", there: anyError,
		answers: answering("/explore/rows", "403", `{code: 7005, error: 'ann may not read public.app'}`),
	},
	{
		name: "sign in", path: "explore?t=app", there: dialog,
		answers: answering("/explore/fields", "401", `{code: 7002, error: 'sign in'}`),
	},
	{
		name: "degraded", path: "explore?t=app", answers: answering("/v1/cluster", "200", degraded),
		there: `[data-ui=banner]`,
	},
	{name: "server gone", path: "explore?t=app", answers: answering("/v1/cluster", "0", "0"), there: `[data-ui=banner]`},
	{name: "choose a table", path: "explore?t=app", steps: []string{`[data-ui=table]`}, there: panel},
	{name: "choose a range", path: "explore?t=app", steps: []string{`[data-ui=range]`}, there: panel},
	{name: "export", path: "explore?t=app", steps: []string{`[data-ui=export]`}, there: panel},
	{name: "share", path: "explore?t=app", steps: []string{`[data-ui=share]`}, there: panel},
	{name: "saved", path: "explore?t=app", steps: []string{`[data-ui=saved]`}, there: panel},
	{name: "palette", path: "explore?t=app", steps: []string{`[data-ui=palette]`}, there: dialog},
	{name: "keys", path: "explore?t=app", steps: []string{"key ?"}, there: dialog},
	{name: "tail", path: "tail?t=app", there: `[data-ui=tail-state]`},
	{name: "sql", path: "sql?q=SELECT+*+FROM+app", steps: []string{`[data-ui=run]`}, there: `[data-ui=result] .row`},
	{
		name: "plot", path: "sql?tab=plot&q=SELECT+host,count(*)+AS+n+FROM+app+GROUP+BY+host",
		steps: []string{`[data-ui=run]`}, there: `[data-ui=plot] svg`,
	},
	{
		name: "plan", path: "sql?tab=plan&q=SELECT+*+FROM+app", steps: []string{`[data-ui=run]`},
		there: `[data-ui=plan] pre`,
	},
	{
		name: "history of sql", path: "sql?q=SELECT+*+FROM+app", steps: []string{`[data-ui=run]`, `[data-ui=history]`},
		there: `[data-ui=history-statement]`,
	},
	{
		name: "save a search", path: "explore?t=app", steps: []string{`[data-ui=saved]`},
		answers: answering("/v1/saved", "200", `{saved: [{kind: 'search', name: 'mine', version: '1', owner: 'ann',
			shared: true, value: {address: '/dashboard/explore?t=app'}}]}`),
		there: `[data-ui=saved-search]`,
	},
	{name: "wrong sql", path: "sql?q=SELEKT+1", steps: []string{`[data-ui=run]`}, there: anyError},
	{name: "dangerous sql", path: "sql?q=DROP+TABLE+app", steps: []string{`[data-ui=run]`}, there: dialog},
	{name: "pipelines", path: "pipelines", there: `[data-ui=pipeline]`},
	{
		name: "pipeline", path: "pipelines?name=mine", steps: []string{`.samplepane .menu > button`, `.panel .choice`},
		there: `[data-ui=sample] small:not(:empty)`,
	},
	{
		name: "replay of a pipeline", path: "pipelines?name=mine", steps: []string{`.title [data-ui=replay]`},
		there: dialog,
	},
	{name: "new pipeline", path: "pipelines?view=new", there: `[data-ui=new-name]`},
	{name: "try", path: "pipelines?view=try", there: `[data-ui=captured]`},
	{name: "ports", path: "add?t=app&sender=syslog", there: `[data-ui=server-port]`},
	{
		name: "cell of sql", path: "sql?q=SELECT+*+FROM+app", steps: []string{`[data-ui=run]`, `[data-ui=take]`},
		there: panel,
	},
	{name: "versions", path: "pipelines?name=mine&view=diff", there: `[data-ui=diff]`},
	{name: "rejects", path: "rejects", there: `[data-ui=reject]`},
	{
		name: "replay", path: "rejects", steps: []string{`[data-ui=replay]`, `[data-ui=replay-try]`},
		there: `dialog [role=status]`,
	},
	{name: "no rejects", path: "rejects?kind=none", there: anyEmpty},
	{name: "tables", path: "tables", there: `[data-ui=table-row]`},
	{name: "table", path: "tables?t=app", there: `[data-ui=ddl]`},
	{name: "no table of the name", path: "tables?t=gone", there: anyEmpty},
	{name: "drop", path: "tables?t=app", steps: []string{`[data-ui=table-actions]`, `[data-ui=do-drop]`}, there: dialog},
	{name: "index", path: "tables?t=app", steps: []string{`[data-ui=table-actions]`, `[data-ui=do-index]`}, there: dialog},
	{name: "cluster", path: "cluster", there: `[data-ui=node]`},
	{name: "degraded cluster", path: "cluster", answers: answering("/v1/cluster", "200", degraded), there: `.problem`},
	{name: "cell", path: "cluster", steps: []string{`[data-ui=shard-cell] button`}, there: panel},
	{name: "add a node", path: "cluster", steps: []string{`[data-ui=add-node]`}, there: dialog},
	{name: "rebalance", path: "cluster", steps: []string{`[data-ui=rebalance]`}, there: dialog},
	{name: "drain", path: "cluster", steps: []string{`[data-ui=nodes-acts]`, `[data-ui=do-drain]`}, there: dialog},
	{
		name: "move a replica", path: "cluster", steps: []string{`[data-ui=shards-acts]`, `[data-ui=do-shard-move]`},
		there: dialog,
	},
	{
		name: "add shards", path: "cluster", steps: []string{`[data-ui=shards-acts]`, `[data-ui=do-shard-add]`},
		there: dialog,
	},
	{
		name: "decommission", path: "cluster", steps: []string{`[data-ui=nodes-acts]`, `[data-ui=do-decommission]`},
		there: dialog,
	},
	{name: "add data", path: "add?t=app", there: `[data-ui=snippet]`},
	{name: "waits for data", path: "add?t=notyet&sender=vector", there: `.dot.waiting`},
	{name: "wrong name", path: "add?t=a%20b", there: `[data-ui=wrong-name]`},
	{name: "settings", path: "settings", there: `.settings pre`},
}

// enter opens a state.
func (s state) enter(t *testing.T, url string) *tab {
	t.Helper()
	b := openWith(t, watch+s.answers, url+"/dashboard/"+s.path)
	for _, step := range s.steps {
		if key, isKey := strings.CutPrefix(step, "key "); isKey {
			b.until(`document.querySelector('[data-ui=rows]')`)
			b.press(key)
		} else {
			b.click(step)
		}
	}
	b.until(`document.querySelector(` + quote(s.there) + `)`)
	return b
}

// startWithStates starts a server with the data for all states.
func startWithStates(t *testing.T) *server {
	t.Helper()
	s := start(t)
	rows := logs(200)
	for i := range rows {
		rows[i]["took"] = float64(i) / 2
	}
	s.ingest("app", rows...)
	s.storePipeline("mine", pipelineText)
	s.storePipeline("mine", pipelineText+"# more\n")
	s.reject("other")
	return s
}
