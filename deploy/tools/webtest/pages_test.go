package webtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// fill types a text into an input.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.until(`document.querySelector(` + quote(selector) + `)`)
	eval[bool](b, `(() => { const e = document.querySelector(`+quote(selector)+`); e.value = `+quote(text)+`;
		e.dispatchEvent(new InputEvent('input', {bubbles: true})); return true })()`)
}

// TestTables opens a table, changes its retention, and drops it by typing its name.
func TestTables(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	s.ingest("web", logs(10)...)
	b := open(t, s.url+"/dashboard/tables")
	b.until(`document.querySelectorAll('[data-ui=table-row]').length === 2`)
	b.until(`[...document.querySelectorAll('[data-ui=last-row]')]
		.every((e) => e.textContent.endsWith(' ago'))`)
	b.fill(`#table-find`, "we")
	b.until(`document.querySelectorAll('[data-ui=table-row]').length === 1`)
	b.fill(`#table-find`, "")
	b.click(`[data-ui=table-row][data-name=app]`)
	b.until(`document.querySelector('[data-ui=ddl]').textContent.includes('TIME INDEX ("ts")')`)
	b.until(`location.search === '?t=app'`)
	b.click(`[data-ui=table-actions]`)
	b.click(`[data-ui=do-ttl]`)
	b.until(`document.querySelector('[data-ui=ask-ttl]').value === 'forever'`)
	b.fill(`dialog input`, "30d")
	b.until(`document.querySelector('[data-ui=expiring]').textContent === 'No row is that old now.'`)
	b.until(`document.querySelector('dialog pre').textContent === "ALTER TABLE \"app\" SET 'ttl' = '30d'"`)
	b.click(`[data-ui=confirm]`)
	b.until(`document.querySelector('[data-ui=ddl]').textContent.includes('30d')`)
	b.click(`[data-ui=table-actions]`)
	b.click(`[data-ui=do-drop]`)
	b.until(`document.querySelector('[data-ui=confirm]').disabled`)
	b.until(`document.querySelector('dialog').textContent.includes('100 rows')`)
	b.fill(`[data-ui=confirm-word]`, "app")
	b.click(`[data-ui=confirm]:not([disabled])`)
	b.until(`!document.querySelector('dialog')`)
	b.until(`document.querySelector('[data-ui=table-row]') &&
		!document.querySelector('[data-ui=table-row][data-name=app]')`) // svc_private.audit may be there by now
}

// TestTableFails checks that the error of a refused statement is shown in the dialog, which stays
// open.
func TestTableFails(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(10)...)
	b := open(t, s.url+"/dashboard/tables?t=app")
	b.click(`[data-ui=table-actions]`)
	b.click(`[data-ui=do-ttl]`)
	b.fill(`dialog input`, "soon")
	b.click(`[data-ui=confirm]`)
	b.until(`document.querySelector('dialog [data-ui=error]').textContent.includes('soon')`)
	b.until(`document.querySelector('dialog').contains(document.activeElement)`)
	b.keys("\x1b") // closes the dialog, and not the table behind it
	b.until(`!document.querySelector('dialog') && document.querySelector('[data-ui=table-actions]')`)
}

// TestShorterTTL shortens how long rows are kept: the dialog says how many rows go, and wants the name of the table.
func TestShorterTTL(t *testing.T) {
	s := start(t)
	rows := logs(30)
	for i := range 10 {
		rows[i]["ts"] = time.Now().Add(-48 * time.Hour).UnixMilli()
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/tables?t=app")
	b.until(`document.querySelector('[data-ui=ddl]')`)
	b.click(`[data-ui=table-actions]`)
	b.click(`[data-ui=do-ttl]`)
	b.fill(`[data-ui=ask-ttl]`, "banana")
	b.click(`[data-ui=confirm]`)
	b.until(`document.querySelector('dialog [data-ui=error]').textContent.includes('banana')`)
	b.fill(`[data-ui=ask-ttl]`, "1d")
	b.until(`!document.querySelector('dialog [data-ui=error]') && document.querySelector('[data-ui=confirm]').disabled &&
		document.querySelector('[data-ui=expiring]').textContent.includes('10 rows of public.app are removed')`)
	b.fill(`[data-ui=confirm-word]`, "app")
	b.click(`[data-ui=confirm]:not([disabled])`)
	b.until(`document.querySelector('[data-ui=ddl]').textContent.includes('1day')`)
}

// TestAddData waits for the first row of a new table, and sends a file with an invalid line.
func TestAddData(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/")
	b.click(`[data-ui=empty] a.main`)
	b.fill(`[data-ui=add-table]`, "fresh")
	b.until(`document.querySelector('[data-ui=snippet]').textContent.includes(location.origin + '/v1/ingest?table=fresh')`)
	b.until(`document.querySelector('[data-ui=first-row]').textContent.includes('Waiting for the first row in fresh')`)
	s.ingest("fresh", logs(3)...)
	b.until(`document.querySelector('[data-ui=first-row]').textContent.includes('3 rows arrived in fresh')`)
	b.until(`document.querySelectorAll('[data-ui=first-row] [data-ui=row]').length === 3`)
	b.click(`[data-ui=sender-vector]`)
	b.until(`document.querySelector('[data-ui=snippet]').textContent.includes('type: http')`)

	lines := filepath.Join(t.TempDir(), "lines.ndjson")
	text := strings.Repeat(`{"n":1,"pad":"`+strings.Repeat("x", 900)+"\"}\n", 3000) + `{"n":"no number"}` + "\n"
	if err := os.WriteFile(lines, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.fill(`[data-ui=add-table]`, "sent")
	chooseFile(b, `[data-ui=file]`, lines)
	b.until(`document.querySelector('[data-ui=drop]').textContent.includes('3,000 rows stored, done')`)
	b.until(`document.querySelector('[data-ui=drop] .wrong').textContent.includes('1 record was refused')`)
}

// TestAddDataOlder waits for the rows of a table whose times are in the past: they create the table before the page can
// follow it, and they count and are shown all the same.
func TestAddDataOlder(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/add?t=older")
	b.until(`document.querySelector('[data-ui=first-row]').textContent.includes('Waiting for the first row in older')`)
	b.until(`performance.getEntriesByType('resource').some((r) => r.name.endsWith('/v1/sql'))`) // it has counted none
	for i, said := range []string{"3 rows arrived in older", "6 rows arrived in older"} {
		rows := logs(3)
		for _, row := range rows {
			row["ts"], row["n"] = time.Now().Add(-24*time.Hour).UnixMilli(), i
		}
		s.ingest("older", rows...)
		b.until(`document.querySelector('[data-ui=first-row]').textContent.includes(` + quote(said) + `)`)
		b.until(`document.querySelectorAll('[data-ui=first-row] [data-ui=row]').length === ` + fmt.Sprint(3*i+3))
	}
}

// TestAddDataNames checks that the page proposes a table that does not exist, and says what a table and a pipeline are,
// before a row is sent.
func TestAddDataNames(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(20)...)
	b := open(t, s.url+"/dashboard/add")
	b.until(`document.querySelector('[data-ui=add-table]').value === 'app2'`)
	b.until(`document.querySelector('[data-ui=add-effect]').textContent.includes('The first rows create the table')`)
	b.fill(`[data-ui=add-table]`, "app")
	b.until(`document.querySelector('[data-ui=add-effect]').textContent.includes('exists and has 20 rows')`)
	b.until(`!document.querySelector('[data-ui=no-pipeline]')`)
	b.fill(`[list=pipelines]`, "nosuch")
	b.until(`document.querySelector('[data-ui=no-pipeline]').textContent.includes('nosuch')`)
	b.click(`[data-ui=sender-docker]`)
	b.until(`document.querySelector('[data-ui=open-port]').textContent.includes('has no users')`)
	b.fill(`[data-ui=add-table]`, "x'; rm -rf / #")
	b.until(`document.querySelector('[data-ui=wrong-name]') && !document.querySelector('[data-ui=first-row]')`)
}

// TestAddDataRejected checks that a record that is rejected while the page waits is shown, with a link
// to its pipeline.
func TestAddDataRejected(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	b := open(t, s.url+"/dashboard/add?t=fresh&pipeline=mine")
	b.until(`document.querySelector('[data-ui=first-row]').textContent.includes('Waiting')`)
	s.reject("fresh")
	b.until(`document.querySelector('[data-ui=first-reject] [data-ui=reject]').textContent.includes('yesterday bad')`)
	b.shoot("add-rejected")
	b.click(`[data-ui=first-reject] li .go`)
	b.until(`location.pathname === '/dashboard/pipelines' && location.search.includes('name=mine')`)
	b.until(`document.querySelector('[data-ui=sample][data-outcome=failed]').textContent.includes('yesterday')`)
}

// chooseFile puts a file into an input, as the browser's own dialog does.
func chooseFile(b *tab, selector, path string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS(selector), []string{path})); err != nil {
		b.t.Fatal(err)
	}
}

// TestSettings checks that the theme and the height of rows survive a reload.
func TestSettings(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(20)...)
	b := open(t, s.url+"/dashboard/settings")
	b.click(`input[name=Theme][value=dark]`)
	b.click(`input[name="Height of rows"][value=dense]`)
	b.until(`document.querySelector('.settings pre').textContent.includes('data-dir')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/explore?t=app"))
	b.until(loaded)
	b.until(`document.documentElement.dataset.theme === 'dark'`)
	b.until(`document.querySelector('[data-ui=row]').getBoundingClientRect().height === 20`)
}

// pipelineText is a pipeline that reads badLines and fails at the second of them.
const pipelineText = `version: 2
processors:
  - dissect: {field: message, pattern: '%{at} %{word}'}
  - date: {field: at}
transform:
  - {field: at, type: timestamp, index: timestamp}
`

const badLines = "2026-01-05T10:00:00Z good\nyesterday bad"

// storePipeline stores a version of a pipeline.
func (s *server) storePipeline(name, text string) {
	s.t.Helper()
	s.post("/v1/pipelines/"+name, "application/x-yaml", text)
}

// reject sends badLines to the pipeline mine, which stores the failed record as rejected.
func (s *server) reject(table string) {
	s.t.Helper()
	s.send("mine", table, badLines)
}

// send sends lines to a pipeline. Records that fail are kept.
func (s *server) send(pipeline, table, lines string) {
	s.t.Helper()
	s.post("/v1/ingest?pipeline_name="+pipeline+"&skip_error=true&on_reject=store&table="+table, "text/plain", lines)
}

// TestPipeline creates a pipeline from a template, and checks the steps of its samples, the line of an
// error, and the versions.
func TestPipeline(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/pipelines")
	b.click(`[data-ui=new-pipeline]`)
	b.fill(`[data-ui=new-name]`, "mine")
	b.click(`[data-ui=begin]`)
	b.until(`document.querySelector('[data-ui=sample]').dataset.outcome === 'stored'`)
	b.until(`document.querySelectorAll('[data-ui=step][data-outcome=ok]').length === 3`)
	b.until(`[...document.querySelectorAll('[data-ui=stored-column]')].some((c) => c.textContent.includes('time index'))`)
	b.fill(`[data-ui=editor]`, pipelineText)
	b.click(`[data-ui=paste]`)
	b.fill(`[data-ui=samples-text]`, badLines)
	b.click(`[data-ui=take-samples]`)
	b.until(`document.querySelectorAll('[data-ui=sample][data-outcome=failed]').length === 1`)
	b.click(`[data-ui=sample][data-outcome=failed] button`)
	b.until(`document.querySelector('[data-ui=step][data-outcome=failed]').textContent.includes('yesterday')`)
	b.until(`document.querySelector('.gutter').textContent.includes('✗ 1')`)
	b.fill(`[data-ui=editor]`, strings.Replace(pipelineText, "- date", "- dat", 1))
	b.until(`document.querySelector('[data-ui=fault]').textContent.includes('line 4')`)
	b.fill(`[data-ui=editor]`, pipelineText)
	b.until(`!document.querySelector('[data-ui=fault]')`)
	b.click(`[data-ui=save]:not([disabled])`)
	b.click(`[data-ui=save-now]`)
	b.until(`document.querySelector('.title .tag').textContent.includes('newest of 1')`)
	b.fill(`[data-ui=editor]`, pipelineText+"# more\n")
	b.click(`[data-ui=save]:not([disabled])`)
	b.until(`document.querySelector('dialog [data-ui=diff] .added').textContent.includes('# more')`)
	b.click(`[data-ui=save-now]`)
	b.until(`document.querySelector('.title .tag').textContent.includes('newest of 2')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?name=mine&view=versions"))
	b.until(`document.querySelectorAll('[data-ui=version]').length === 2`)
	b.until(`document.querySelector('[data-ui=diff] .added').textContent.includes('# more')`)
	b.click(`[data-ui=version]:last-child button`)
	b.click(`[data-ui=restore]`)
	b.until(`!document.querySelector('[data-ui=editor]').value.includes('# more')`)
	b.until(`document.querySelector('[data-ui=save]:not([disabled])')`)
}

// TestPipelineReload reloads the page in the middle of editing: the text must stay until it is discarded, and a
// pipeline that is not stored yet must keep its name, text and sample.
func TestPipelineReload(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	b := open(t, s.url+"/dashboard/pipelines?name=mine")
	b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect')`)
	b.fill(`[data-ui=editor]`, pipelineText+"# mine\n")
	b.until(`document.querySelector('[data-ui=discard]')`)
	b.do(chromedp.Reload())
	b.until(`document.querySelector('[data-ui=editor]').value.endsWith('# mine\n')`)
	b.click(`[data-ui=discard]`)
	b.until(`!document.querySelector('[data-ui=editor]').value.includes('# mine')`)
	b.click(`[data-ui=nav-pipelines]`)
	b.click(`[data-ui=new-pipeline]`)
	b.fill(`[data-ui=new-name]`, "fresh")
	b.click(`[data-ui=begin]`)
	b.until(`document.querySelector('[data-ui=sample]')`)
	b.do(chromedp.Reload())
	b.until(`document.querySelector('h1').textContent === 'fresh' && document.querySelector('[data-ui=sample]') &&
		document.querySelector('[data-ui=editor]').value.includes('processors')`)
}

// TestTemplates tries each template of a new pipeline on its sample line.
func TestTemplates(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/pipelines?view=new")
	b.until(`document.querySelectorAll('.template').length > 3`)
	for i := range eval[int](b, `document.querySelectorAll('.template').length`) {
		b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?view=new"))
		b.fill(`[data-ui=new-name]`, "mine")
		eval[bool](b, fmt.Sprintf(`(document.querySelectorAll('.template input')[%d].click(), true)`, i))
		b.click(`[data-ui=begin]`)
		b.until(`document.querySelector('[data-ui=sample]').dataset.outcome === 'stored'`)
	}
}

// TestRejects checks that the reasons of rejected records are shown, and opens the pipeline with one
// of them.
func TestRejects(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/rejects")
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('on_reject=store')`)
	s.storePipeline("mine", pipelineText)
	s.reject("app")
	b.do(chromedp.Navigate(s.url + "/dashboard/rejects"))
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('1 record that')`)
	b.until(`document.querySelector('[data-ui=reject]').textContent.includes('yesterday bad')`)
	b.click(`[data-ui=reject] button`)
	b.until(`document.querySelector('[data-ui=sample]').dataset.outcome === 'failed'`)
	b.until(`location.search.includes('name=mine')`)
}

// TestLowScreen checks that rows are in sight on a screen of 1440×900 at a zoom of 200 %, and that a reader with only a
// keyboard gets over the bar by one key.
func TestLowScreen(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.do(chromedp.KeyEvent("\t"))
	b.until(`document.activeElement === document.querySelector('[data-ui=skip]')`)
	b.do(chromedp.KeyEvent("\r"))
	b.until(`document.activeElement.closest('main')`)
	b.do(chromedp.EmulateViewport(720, 450))
	b.until(`document.querySelector('[data-ui=rows]').clientHeight > 200`)
	eval[bool](b, `(document.querySelector('main').scrollTo(0, 1000), true)`)
	b.until(`[...document.querySelectorAll('[data-ui=row]')].filter((row) => {
		const {top, bottom} = row.getBoundingClientRect(); return top > 48 && bottom < 398 }).length > 3`)
}

// TestNarrow checks that no page scrolls sideways at the width of a small phone, or of a desktop at a
// zoom of 400 %.
func TestNarrow(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	s.storePipeline("mine", pipelineText)
	s.reject("other")
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.do(chromedp.EmulateViewport(320, 640))
	for path, there := range map[string]string{
		"explore?t=app&view=patterns": `[data-ui=pattern]`, "explore?t=app&view=compare": `.compared`,
		"pipelines": `[data-ui=pipeline]`, "pipelines?name=mine": `[data-ui=editor]`,
		"pipelines?name=mine&view=diff": `[data-ui=version]`,
		"pipelines?view=new":            `[data-ui=new-name]`, "rejects": `[data-ui=reject]`, "tables?t=app": `[data-ui=ddl]`,
		"add?t=app&sender=vector": `[data-ui=snippet]`, "settings": `.settings pre`, "cluster": `[data-ui=node]`,
		"sql": `[data-ui=editor]`,
	} {
		b.do(chromedp.Navigate(s.url + "/dashboard/" + path))
		b.until(`document.querySelector('` + there + `')`)
		if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 320 {
			t.Errorf("%s is %d pixels wide", path, wide)
		}
		for _, name := range eval[[]string](b, `[...document.querySelectorAll('main button, main a, main input, main select')]
			.filter((e) => { const r = e.getBoundingClientRect(); return r.width > 0 && r.left >= innerWidth &&
				!e.closest('.wide-table, .codebox, .head, .senders, .tailbar, .storedrows, .title') })
			.map((e) => e.outerHTML.slice(0, 100))`) {
			t.Errorf("%s: out of sight: %s", path, name)
		}
	}
}
