package webtest

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestTwoTabsOfPipeline changes a pipeline in two tabs of one browser: each keeps its text over a reload, and says that
// the other one has a text too.
func TestTwoTabsOfPipeline(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	first := open(t, s.url+"/dashboard/pipelines?name=mine")
	second := open(t, s.url+"/dashboard/pipelines?name=mine")
	tabs := []*tab{first, second}
	for _, b := range tabs {
		b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect') &&
			!document.querySelector('[data-ui=other-draft]')`)
	}
	first.fill(`[data-ui=editor]`, pipelineText+"# of the first\n")
	second.until(`document.querySelector('[data-ui=other-draft]') && document.querySelector('[data-ui=take-draft]')`)
	second.fill(`[data-ui=editor]`, pipelineText+"# of the second\n")
	second.until(`!document.querySelector('[data-ui=take-draft]')`) // its own text would be gone
	first.until(`document.querySelector('[data-ui=other-draft]')`)
	for i, b := range tabs {
		b.do(chromedp.Reload())
		b.until(`document.querySelector('[data-ui=editor]').value
			.endsWith('# of the ` + []string{"first", "second"}[i] + `\n') && document.querySelector('[data-ui=other-draft]')`)
	}
	first.click(`[data-ui=discard]`)
	second.until(`!document.querySelector('[data-ui=other-draft]')`)
	first.click(`[data-ui=take-draft]`)
	first.until(`document.querySelector('[data-ui=editor]').value.endsWith('# of the second\n')`)
}

// TestDottedKeys searches fields whose keys have dots, of columns and inside a JSON column, adds one as a column, and
// completes the name of another.
func TestDottedKeys(t *testing.T) {
	s := start(t)
	s.run(`CREATE TABLE app (ts TIMESTAMP(3) TIME INDEX, "k.x" STRING, msg STRING, extra JSON)`)
	now := time.Now().UTC().Format(time.RFC3339)
	s.run(`INSERT INTO app VALUES ('` + now + `', 'dotted', 'one', '{"user.name":"ann"}'), ('` + now +
		`', 'other', 'two', '{"user":{"name":"bob"}}')`)
	b := open(t, s.url+"/dashboard/explore?t=app&cols=k.x&q="+url.QueryEscape(`extra.user.name:ann`))
	b.until(`document.querySelectorAll('[data-ui=row]').length === 1 &&
		document.querySelector('[data-ui=row]').textContent.includes('dotted')`)
	b.search(`extra.user.name:bob k.x:other`)
	b.until(`document.querySelectorAll('[data-ui=row]').length === 1 &&
		document.querySelector('[data-ui=row]').textContent.includes('two')`)
	b.fill(`[data-ui=search]`, `extra.us`)
	b.until(`document.querySelector('#choices').textContent.includes('extra.user.name')`)
}

// TestSpreadsheet downloads CSV for spreadsheets: a log line that a spreadsheet would run is text in it.
func TestSpreadsheet(t *testing.T) {
	s := start(t)
	rows := logs(1)
	rows[0]["msg"] = `=HYPERLINK("http://evil")`
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=export]`)
	text := func(name string) string {
		t.Helper()
		find := `[...document.querySelectorAll('.panel a.choice')].find((a) => a.textContent === ` + quote(name) + `)`
		b.until(find)
		resp, err := http.Get(s.url + eval[string](b, find+`.getAttribute('href')`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		content, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", content, resp.StatusCode, err)
		}
		return string(content)
	}
	if exact := text("CSV"); !strings.Contains(exact, `"=HYPERLINK(`) {
		t.Errorf("CSV: %s", exact)
	}
	if marked := text("CSV for spreadsheets"); !strings.Contains(marked, `"'=HYPERLINK(`) {
		t.Errorf("CSV for spreadsheets: %s", marked)
	}
}

// TestRowsForSpreadsheet saves the rows of a statement for spreadsheets: texts that a spreadsheet would run
// have an apostrophe in front, and numbers have none.
func TestRowsForSpreadsheet(t *testing.T) {
	s := start(t)
	statement := "SELECT '=1+1' AS a, -5 AS n, '' AS nothing"
	b := openWith(t, watch+keepDownloads, s.url+"/dashboard/sql?"+url.Values{"q": {statement}}.Encode())
	b.click(`[data-ui=run]`)
	for name, want := range map[string]string{
		"save-csv": "a,n,nothing\r\n=1+1,-5,\"\"\r\n", "save-csv-text": "a,n,nothing\r\n'=1+1,-5,\"\"\r\n",
	} {
		b.click(`[data-ui=take]`)
		b.click(`[data-ui=` + name + `]`)
		b.until(`window.saved['rows.csv'] === ` + quote(want))
	}
}

// TestSamplesAtOnce takes samples as soon as the page of a pipeline is drawn: the click is not lost.
func TestSamplesAtOnce(t *testing.T) {
	s := startWithStates(t)
	b := openWith(t, watch+`new MutationObserver(() => {
		const [menu, choice] = ['.menu > button', '.panel .choice'].map((e) => document.querySelector('.samplepane ' + e));
		if (menu && !window.opened) { window.opened = true; menu.click(); }
		if (choice && !window.chosen) { window.chosen = true; choice.click(); }
	}).observe(document, {childList: true, subtree: true});`, s.url+"/dashboard/pipelines?name=mine")
	b.until(`window.chosen && document.querySelector('[data-ui=sample] small:not(:empty)')`)
}
