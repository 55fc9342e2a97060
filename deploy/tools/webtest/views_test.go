package webtest

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// press sends a key to the page.
func (b *tab) press(key string) {
	b.t.Helper()
	eval[bool](b, `(dispatchEvent(new KeyboardEvent('keydown', {key: `+quote(key)+`})), true)`)
}

// TestPatterns shows the texts of a search as patterns; a click shows the rows of one, another hides them.
func TestPatterns(t *testing.T) {
	s := start(t)
	rows := logs(500)
	for i, row := range rows {
		if i%10 == 0 {
			row["msg"] = fmt.Sprintf("connection reset by peer after %d ms", i)
		}
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.press("x")
	b.until(`document.querySelectorAll('[data-ui=pattern]').length === 2`)
	b.until(`document.querySelector('[data-ui=pattern]').textContent.includes('450')`)
	b.click(`[data-ui=pattern] .not`)
	b.until(`document.querySelectorAll('[data-ui=pattern]').length === 1`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('50 rows')`)
	b.click(`[data-ui=pattern] .only`)
	b.until(`[...document.querySelectorAll('[data-ui=row]')].every((r) => r.dataset.level === 'error')`)
	b.until(`document.querySelectorAll('[data-ui=row]').length > 10`)
}

// TestPatternsOfChosenText checks that the page asks for the text field if no field is known as the
// message, and remembers the choice.
func TestPatternsOfChosenText(t *testing.T) {
	s := start(t)
	rows := make([]map[string]any, 40)
	for i, row := range logs(40) {
		rows[i] = map[string]any{"ts": row["ts"], "path": fmt.Sprintf("/cart/%d", i), "host": "web-1"}
	}
	s.ingest("visits", rows...)
	b := open(t, s.url+"/dashboard/explore?t=visits&view=patterns")
	b.until(`document.querySelectorAll('[data-ui=pattern-field]').length === 2`)
	eval[bool](b, `([...document.querySelectorAll('[data-ui=pattern-field]')]
		.find((e) => e.textContent === 'path').click(), true)`)
	shown := `document.querySelector('[data-ui=pattern]')?.textContent.includes('/cart/')`
	b.until(shown)
	eval[bool](b, `(window.former = true, location.reload(), true)`)
	b.until(`!window.former && ` + shown)
}

// TestMissingTable opens a link to a table that does not exist. The next visit must show a table
// that exists.
func TestMissingTable(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	b := open(t, s.url+"/dashboard/explore?t=nosuch")
	b.until(`document.querySelector('[data-ui=retry]')`)
	eval[bool](b, `(location.href = '/dashboard/', true)`)
	b.until(loaded)
	b.until(`document.title.startsWith('app')`)
}

// TestCompare compares a part of the histogram with the rest: its rows have another host.
func TestCompare(t *testing.T) {
	s := start(t)
	rows := logs(600)
	for i, row := range rows {
		if i >= 300 && i < 400 {
			row["host"] = "db-9"
		}
	}
	s.ingest("app", rows...)
	from, to := rows[300]["ts"], rows[399]["ts"]
	b := open(t, s.url+"/dashboard/explore?t=app&view=compare&from=-5m&afrom="+
		eval[string](open(t, s.url+"/dashboard/settings"), jsTime(from)+` + '&ato=' + `+jsTime(to)))
	b.until(`document.querySelector('[data-ui=compare-field]').textContent.startsWith('host')`)
	b.until(`document.querySelector('[data-ui=compare-field] li').textContent.includes('db-9')`)
	b.click(`[data-ui=compare-field] li button`)
	b.until(`document.querySelector('[data-ui=search]').value === 'host=db-9'`)
}

// TestBrush selects a part of the histogram with the keyboard, and compares it with the rest.
func TestBrush(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(600)...)
	b := open(t, s.url+"/dashboard/explore?t=app&from=-2m")
	b.until(`document.querySelectorAll('[data-ui=bar]').length > 10`)
	b.until(`(() => { const h = document.querySelector('[data-ui=histogram]'); h.focus();
		h.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
		return document.querySelector('[data-ui=brush-compare]') })()`)
	b.click(`[data-ui=brush-compare]`)
	b.until(`location.search.includes('view=compare') && location.search.includes('afrom=')`)
	b.until(`document.querySelector('[data-ui=view-compare]').getAttribute('aria-pressed') === 'true'`)
}

// jsTime returns a JavaScript expression for a time in milliseconds, in the form of the address.
func jsTime(ms any) string {
	return `new Date(` + quote(ms) + `).toISOString()`
}

// TestPalette opens a table by typing some of its letters.
func TestPalette(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(20)...)
	s.ingest("orders", logs(20)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	eval[bool](b, `(dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true})), true)`)
	b.fill(`[data-ui=palette-text]`, "ordr")
	b.until(`document.querySelector('.palette [aria-selected=true]').textContent.includes('public.orders')`)
	eval[bool](b, `(document.querySelector('[data-ui=palette-text]').dispatchEvent(
		new KeyboardEvent('keydown', {key: 'Enter', bubbles: true})), true)`)
	b.until(`!document.querySelector('dialog') && location.search === '?t=orders'`)
}

// TestExport checks that the link of an export returns all rows of the search, not only the loaded
// ones.
func TestExport(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(450)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.until(`document.querySelector('[data-ui=sql-line]').textContent.includes('SELECT')`)
	b.click(`[data-ui=export]`)
	b.until(`document.querySelector('.panel a[download="app.csv"]')`)
	resp, err := http.Get(eval[string](b, `document.querySelector('.panel a[download="app.csv"]').href`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	rows, err := csv.NewReader(resp.Body).ReadAll()
	if err != nil || len(rows) != 451 {
		t.Errorf("%d lines, %v", len(rows), err)
	}
}

// TestSelection selects rows with Shift and copies them as lines, in the order of the list.
func TestSelection(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	eval[bool](b, `(window.copied = '', document.execCommand = () => {
		copied = document.activeElement.value ?? ''; return true },
		Object.defineProperty(navigator, 'clipboard', {value: undefined}), true)`)
	b.click(`[data-ui=row][data-index="1"]`)
	eval[bool](b, `(document.querySelector('[data-ui=row][data-index="4"]').dispatchEvent(
		new MouseEvent('click', {bubbles: true, shiftKey: true})), true)`)
	b.until(`document.querySelectorAll('.row.picked').length === 4`)
	b.press("J")
	b.until(`document.querySelectorAll('.row.picked').length === 5`)
	b.press("y")
	b.until(`copied.split('\n').length === 5`)
	b.press("Escape")
	b.press("Escape")
	b.until(`document.querySelectorAll('.row.picked').length === 0`)
}

// TestFieldsOnPhone opens and closes the list of fields, which covers the rows.
func TestFieldsOnPhone(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.do(chromedp.EmulateViewport(390, 844))
	b.until(loaded)
	b.until(`getComputedStyle(document.querySelector('.fieldlist')).display === 'none'`)
	b.click(`[data-ui=show-fields]`)
	b.until(`getComputedStyle(document.querySelector('.fieldlist')).display === 'flex'`)
	b.click(`.fieldlist .fields-button`)
	b.until(`getComputedStyle(document.querySelector('.fieldlist')).display === 'none'`)
}

// TestSaved saves a search under a name, opens it, and opens its short link in another tab. Settings lists it, opens it
// and removes it.
func TestSaved(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app&q=failed")
	b.until(loaded)
	b.click(`[data-ui=saved]`)
	b.fill(`[data-ui=saved-name]`, "all that failed")
	b.click(`[data-ui=save-search]`)
	b.until(`document.querySelector('[data-ui=toast]').textContent.includes('all that failed')`)
	b.search("")
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('100 rows')`)
	b.click(`[data-ui=saved]`)
	b.click(`[data-ui=saved-search]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'failed'`)
	eval[bool](b, `(Object.defineProperty(navigator, 'clipboard',
		{value: {writeText: (text) => { window.copied = text }}}), true)`)
	b.click(`[data-ui=share]`)
	b.click(`[data-ui=copy-short]:not([disabled])`)
	b.until(`window.copied?.includes('/dashboard/s/')`)
	other := open(t, eval[string](b, `copied`))
	other.until(`document.querySelector('[data-ui=search]').value === 'failed'`)
	other.until(`location.search.includes('t=app') && /from=\d{4}/.test(location.search)`)
	gone := open(t, s.url+"/dashboard/s/nothinghere1")
	gone.until(`document.querySelector('[data-ui=toast]').textContent.includes('does not work')`)

	other = open(t, s.url+"/dashboard/settings")
	other.click(`[data-ui=saved-searches] [data-ui=saved-search]`)
	other.until(`document.querySelector('[data-ui=search]').value === 'failed'`)
	other = open(t, s.url+"/dashboard/settings")
	other.click(`[data-ui=saved-searches] [aria-label="Remove all that failed"]`)
	other.until(`document.querySelector('[data-ui=saved-searches]').textContent.includes('None')`)
}

// TestReplay corrects a pipeline and sends its rejected record again: the record must be stored once.
func TestReplay(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	s.reject("app")
	s.storePipeline("mine", `version: 2
processors:
  - dissect: {field: message, pattern: '%{at} %{word}'}
  - vrl:
      source: |
        .at = parse_timestamp(.at, "%+") ?? now()
        .
transform:
  - {field: at, type: timestamp, index: timestamp}
`)
	b := open(t, s.url+"/dashboard/rejects?pipeline=mine")
	b.click(`[data-ui=replay]`)
	b.click(`[data-ui=replay-try]`)
	b.until(`document.querySelector('dialog [role=status]').textContent.includes('1 of 1 would be stored')`)
	b.click(`[data-ui=replay-now]:not([disabled])`)
	b.until(`document.querySelector('dialog [role=status]').textContent.includes('1 of 1 stored, 0 failed again')`)
	b.click(`[data-ui=replay-try]`)
	b.until(`document.querySelector('dialog [role=status]').textContent.includes('1 is stored already')`)
	b.until(`document.querySelector('dialog [data-ui=replay-try]')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/rejects"))
	b.until(`document.querySelector('[data-ui=total]').textContent.endsWith('; 1 was stored later, by a replay')`)
}

// TestConflict checks that a text is not saved if another version was stored after it was opened.
func TestConflict(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	b := open(t, s.url+"/dashboard/pipelines?name=mine")
	b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect')`)
	s.storePipeline("mine", pipelineText+"# of somebody else\n")
	b.fill(`[data-ui=editor]`, pipelineText+"# mine\n")
	b.click(`[data-ui=save]:not([disabled])`)
	b.fill(`[data-ui=note]`, "a note")
	b.click(`[data-ui=save-now]`)
	b.until(`document.querySelector('dialog [role=alert]').textContent.includes('newer version was stored meanwhile')`)
	b.click(`dialog [data-ui=rebase]`)
	b.until(`document.querySelector('dialog [data-ui=diff] .removed').textContent.includes('# of somebody else')`)
	b.click(`[data-ui=save-now]:not([disabled])`)
	b.until(`document.querySelector('.title .tag').textContent.includes('newest of 3')`)
}

// TestAnyOf selects two values of a field: rows with either of them must be found.
func TestAnyOf(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(300)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=value][data-value=web-1] [data-ui=value-any]`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('100 rows')`)
	b.click(`[data-ui=value][data-value=web-2] [data-ui=value-any]`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('200 rows')`)
	b.until(`document.querySelector('[data-ui=search]').value === 'host=(web-1 OR web-2)'`)
	b.until(`document.querySelectorAll('[data-ui=value-any]:checked').length === 2`)
	b.shoot("any-of")
	b.click(`[data-ui=value][data-value=web-1] [data-ui=value-any]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'host=web-2'`)
}

// TestTicksOfLevels searches for levels: their values must be ticked, however they are spelled, and a tick that is
// taken away must leave the other levels.
func TestTicksOfLevels(t *testing.T) {
	s := start(t)
	rows := logs(300)
	rows[1]["level"], rows[2]["level"], rows[3]["level"] = "err", "WARN", "DEBUG"
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app&q=level:error")
	ticked := func(names string) {
		t.Helper()
		b.until(`[...document.querySelectorAll('[data-ui=value]')].filter((v) => v.querySelector(':checked'))
			.map((v) => v.dataset.value).sort().join() === ` + quote(names))
	}
	ticked("ERROR,err")
	b.until(`document.querySelector('[data-ui=total]').textContent === '31 rows'`)
	b.click(`[data-ui=value][data-value=WARN] [data-ui=value-any]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'level:(error OR WARN)'`)
	ticked("ERROR,WARN,err")
	b.until(`document.querySelector('[data-ui=total]').textContent === '32 rows'`)
	b.search("level:>=warn")
	b.until(`document.querySelector('[data-ui=total]').textContent === '32 rows' && location.search.includes('%3E')`)
	ticked("ERROR,WARN,err")
	b.click(`[data-ui=value][data-value=err] [data-ui=value-any]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'level:(fatal OR warn)'`)
	ticked("WARN")
	b.until(`document.querySelector('[data-ui=total]').textContent === '1 row'`)
}

// TestRowDifferences compares two selected rows, and opens other pages with key sequences.
func TestRowDifferences(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=row][data-index="0"]`)
	b.until(`document.querySelector('[data-ui=detail]')`)
	b.press("J")
	b.until(`document.querySelectorAll('.row.picked').length === 2`)
	b.press("d")
	b.until(`document.querySelectorAll('[data-ui=row-differences] tbody tr').length === 2`) // msg and host, not level
	b.shoot("row-differences")
	b.click(`dialog .button`)
	b.until(`!document.querySelector('dialog')`)
	for _, to := range [][2]string{{"t", "tail"}, {"c", "cluster"}, {"b", "tables"}, {"e", "explore"}} {
		b.press("g")
		b.press(to[0])
		b.until(`location.pathname === ` + quote("/dashboard/"+to[1]))
	}
}

// TestMarker adds a line to a tail, between the rows before and after it.
func TestMarker(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(5)...)
	b := open(t, s.url+"/dashboard/tail?t=app")
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
	s.ingest("app", logs(2)...)
	b.until(`document.querySelectorAll('[data-ui=row]').length === 2`)
	b.press("m")
	b.until(`document.querySelector('[data-ui=marker]').textContent.includes('marked at')`)
	s.ingest("app", logs(3)...)
	b.until(`document.querySelectorAll('[data-ui=row]').length === 5`)
	b.until(`document.querySelector('[data-ui=marker]').getAttribute('aria-rowindex') === '3'`)
	b.shoot("marker")
}

// TestUnfold expands a row in the list: the rows below it must move down, and the scroll height must
// grow.
func TestUnfold(t *testing.T) {
	s := start(t)
	rows := logs(300)
	rows[298]["msg"] = strings.Repeat("a long text of many words ", 30) + "\nand a second line"
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	spread := `document.querySelector('.spread').getBoundingClientRect().height`
	before := eval[float64](b, spread)
	b.click(`[data-ui=row][data-index="1"]`)
	b.until(`document.querySelector('[data-ui=detail]')`)
	unfold := `(dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', shiftKey: true})), true)`
	eval[bool](b, unfold)
	b.until(`document.querySelector('.row.unfolded').getBoundingClientRect().height > 90`)
	b.until(`Math.abs(` + spread + ` - ` + fmt.Sprint(before) + ` + 24 -
		document.querySelector('.row.unfolded').getBoundingClientRect().height) < 1`)
	b.until(`Math.abs(document.querySelector('[data-index="2"]').getBoundingClientRect().top -
		document.querySelector('.row.unfolded').getBoundingClientRect().bottom) < 1`)
	for _, selector := range []string{`.row.unfolded [data-ui=row-line]`, `[data-ui=detail-value]`} {
		b.until(`/words \n\s*and a second line/.test(document.querySelector(` + quote(selector) + `).textContent)`)
	}
	b.shoot("unfolded")
	b.do(chromedp.EmulateViewport(390, 844))
	b.press("Escape")
	b.until(`!document.querySelector('[data-ui=detail]') && document.querySelector('.row.unfolded').offsetHeight > 200`)
	b.shoot("unfolded-phone")
	b.theme("dark")
	b.do(chromedp.EmulateViewport(1440, 900))
	b.until(`document.querySelector('.row.unfolded').offsetHeight < 200`)
	b.shoot("unfolded-dark")
	// After scrolling to the end, the last row must be at the bottom.
	eval[bool](b, `(document.querySelector('[data-ui=rows]').scrollTop = 1e6, true)`)
	b.until(`document.querySelector('[data-index="199"]').getBoundingClientRect().height === 24`)
	b.press("Escape")
	b.until(`!document.querySelector('.row.unfolded') && ` + spread + ` >= ` + fmt.Sprint(before))
}

// TestRefresh checks that new rows are shown while the start of the list is visible, and are counted
// otherwise.
func TestRefresh(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(300)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	eval[bool](b, `(() => { const r = document.querySelector('[data-ui=refresh]'); r.value = '5';
		r.dispatchEvent(new Event('change', {bubbles: true})); return true })()`)
	s.ingest("app", logs(10)...)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('310 rows')`)
	eval[bool](b, `(document.querySelector('[data-ui=rows]').scrollTop = 600, true)`)
	later := logs(7)
	for _, row := range later {
		row["ts"] = time.Now().UnixMilli()
	}
	s.ingest("app", later...)
	b.until(`document.querySelector('[data-ui=new-rows]').textContent.includes('7 new rows')`)
	b.until(`document.querySelector('[data-ui=rows]').scrollTop === 600`)
	b.shoot("refresh")
	b.click(`[data-ui=new-rows]`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('317 rows')`)
	b.until(`document.querySelector('[data-ui=rows]').scrollTop === 0 && !document.querySelector('[data-ui=new-rows]')`)
}

// TestSlowSearch checks that a search without an answer after ten seconds shows how much it reads, and
// offers a shorter time range.
func TestSlowSearch(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	// Delay answers with rows, except for ranges within the last quarter of an hour.
	late := watch + `const ask = fetch; window.fetch = (path, how) => String(path).endsWith('/explore/rows') &&
		!JSON.parse(how.body).from.startsWith('-15m') ? new Promise((_, no) => how.signal.addEventListener('abort',
		() => no(new DOMException('stopped', 'AbortError')))) : ask(path, how);`
	b := openWith(t, late, s.url+"/dashboard/explore?t=app")
	b.until(`/100 rows(, in \d+ of \d+ segments,)? are read/.test(
		document.querySelector('[data-ui=why-slow]').textContent)`)
	b.shoot("slow")
	b.click(`.elapsed .go`)
	b.until(`location.search.includes('from=-15m')`)
	b.until(loaded)
	b.until(`!document.querySelector('[data-ui=why-slow]')`)
}

// TestJSONMessage opens a row whose message is JSON, which is indented, and shown as it is stored on request.
func TestJSONMessage(t *testing.T) {
	s := start(t)
	s.ingest("app", map[string]any{
		"ts":  time.Now().UnixMilli(),
		"msg": `{"event": "checkout", "user": {"name": "<b>Ann</b>", "id": 12345678901234567890}}`,
	})
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.click(`[data-ui=row]`)
	b.until(`document.querySelector('[data-name=msg] pre').textContent.includes(
		'"user": {\n    "name": "<b>Ann</b>",\n    "id": 12345678901234567890\n  }')`)
	b.click(`[data-ui=as-stored]`)
	b.until(`document.querySelector('[data-name=msg] pre').textContent.startsWith('{"event": "checkout", "user"')`)
}
