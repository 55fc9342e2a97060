package webtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// fill types a text into an input.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.until(`document.querySelector(` + quote(selector) + `)`)
	eval[bool](b, `(() => { const e = document.querySelector(`+quote(selector)+`); e.value = `+quote(text)+`;
		e.dispatchEvent(new InputEvent('input', {bubbles: true})); return true })()`)
}

// TestTables opens a table, changes how long its rows are kept, and drops it by typing its name.
func TestTables(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	s.ingest("web", logs(10)...)
	b := open(t, s.url+"/dashboard/tables")
	b.until(`document.querySelectorAll('[data-ui=table-row]').length === 2`)
	b.fill(`#table-find`, "we")
	b.until(`document.querySelectorAll('[data-ui=table-row]').length === 1`)
	b.fill(`#table-find`, "")
	b.click(`[data-ui=table-row][data-name=app]`)
	b.until(`document.querySelector('[data-ui=ddl]').textContent.includes('TIME INDEX ("ts")')`)
	b.until(`location.search === '?t=app'`)
	b.click(`[data-ui=table-actions]`)
	b.click(`[data-ui=do-ttl]`)
	b.fill(`dialog input`, "30d")
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
	b.until(`document.querySelectorAll('[data-ui=table-row]').length === 1`)
}

// TestTableFails has a statement that the server refuses said in the dialog, which stays.
func TestTableFails(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(10)...)
	b := open(t, s.url+"/dashboard/tables?t=app")
	b.click(`[data-ui=table-actions]`)
	b.click(`[data-ui=do-ttl]`)
	b.fill(`dialog input`, "soon")
	b.click(`[data-ui=confirm]`)
	b.until(`document.querySelector('dialog [data-ui=error]').textContent.includes('soon')`)
}

// TestAddData waits for the first row of a new table, sees it, and sends a file of which a line is refused.
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
	b.until(`document.querySelector('[data-ui=drop] .wrong').textContent.includes('1 × ')`)
}

// chooseFile puts a file into an input, as the browser's own dialog does.
func chooseFile(b *tab, selector, path string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS(selector), []string{path})); err != nil {
		b.t.Fatal(err)
	}
}

// TestSettings has the theme and the height of rows kept over a reload.
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
