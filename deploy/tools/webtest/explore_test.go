package webtest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWrap checks wrapped rows: each has the height that it needs, they do not overlap, and the list
// ends with the last one.
func TestWrap(t *testing.T) {
	s := start(t)
	rows := logs(200)
	for i := range rows {
		rows[i]["msg"] = strings.Repeat("a long text of many words ", i%16)
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.press("w")
	b.until(`((rows) => rows.length > 5 && rows.every((r, i) => i === 0 ||
		Math.abs(r.getBoundingClientRect().top - rows[i - 1].getBoundingClientRect().bottom) < 1) &&
		new Set(rows.map((r) => r.offsetHeight)).size > 1)([...document.querySelectorAll('[data-ui=row]')])`)
	b.until(`((list, last) => { list.scrollTop = 1e9; return last() && Math.abs(last().getBoundingClientRect().bottom -
		list.getBoundingClientRect().bottom) < 1 })(document.querySelector('[data-ui=rows]'),
		() => document.querySelector('[data-index="199"]'))`)
	b.press("w")
	b.until(`[...document.querySelectorAll('[data-ui=row]')].every((r) => r.offsetHeight === 24)`)
}

// TestColumns adds columns, and moves and widens one with the keyboard. The browser must remember them
// for the table.
func TestColumns(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.press("e")
	b.until(`document.querySelectorAll('[data-ui=column-add]').length > 2`)
	for _, name := range []string{"host", "level"} {
		eval[bool](b, `([...document.querySelectorAll('[data-ui=column-add]')].find((e) => e.textContent === `+quote(name)+
			`).click(), true)`)
		b.until(`document.querySelector('.colhead [data-name=` + name + `]')`)
	}
	b.until(`location.search.includes('cols=host,level')`)
	head := func(key, modifier string) {
		t.Helper()
		eval[bool](b, `(document.querySelector('.colhead [data-name=host] button').dispatchEvent(new KeyboardEvent('keydown',
			{key: `+quote(key)+`, `+modifier+`: true, bubbles: true})), true)`)
	}
	before := eval[float64](b, `document.querySelector('.colhead [data-name=host]').offsetWidth`)
	head("ArrowRight", "altKey")
	b.until(`document.querySelector('.colhead [data-name=host]').offsetWidth > ` + quote(before))
	b.until(`document.querySelector('[data-ui=row] .src').offsetWidth > ` + quote(before))
	head("ArrowRight", "shiftKey")
	b.until(`location.search.includes('cols=level,host')`)
	b = open(t, s.url+"/dashboard/explore?t=app")
	b.until(`[...document.querySelectorAll('.colhead [data-ui=column]')].map((e) => e.dataset.name).join() ===
		'level,host'`)
	eval[bool](b, `(localStorage.clear(), true)`)
}

// TestNumberRange checks that a number field shows the distribution of its values, and can be filtered
// by a range.
func TestNumberRange(t *testing.T) {
	s := start(t)
	rows := logs(200)
	for i := range rows {
		rows[i]["took"] = float64(i) / 2
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=field][data-name=took] button`)
	b.until(`document.querySelectorAll('[data-ui=number-facet] .bins u').length > 5`)
	b.fill(`[data-ui=number-facet] input`, "50")
	b.click(`[data-ui=number-range]:not([disabled])`)
	b.until(`document.querySelector('[data-ui=search]').value === 'took:>=50'`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('100 rows')`)
}

// TestPartial requests a partial answer, without the shards that do not answer, and checks that the
// page says what is missing.
func TestPartial(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	// The request fails because a shard is down, unless a partial answer is allowed.
	away := `{ const ask = fetch; window.fetch = async (path, how) => {
		if (!/explore.(fields|rows|row|context|hits|facets|patterns)$/.test(path)) return ask(path, how);
		if (!JSON.parse(how.body).allow_partial) return new Response(
			JSON.stringify({code: 5003, error: 'shard 2 on node b does not answer'}),
			{status: 503, headers: {'retry-after': '60'}});
		const answer = await (await ask(path, how)).json();
		return new Response(JSON.stringify({...answer, partial: {shards: ['shard 2 on node b']}})); } }`
	b := openWith(t, watch+away, s.url+"/dashboard/explore?t=app")
	b.click(`[data-ui=error] [data-ui=partial]`)
	b.until(loaded)
	b.until(`document.querySelector('.banner[data-ui=partial]').textContent.includes('shard 2 on node b')`)
	b.until(`location.search.includes('partial=1')`)
	b.shoot("partial")
	b.click(`[data-ui=row]`)
	b.until(`document.querySelectorAll('[data-ui=detail-field]').length > 2`)
	b.click(`[data-ui=context]`)
	b.until(`document.querySelectorAll('[data-ui=context-row]').length > 1`)
	b.do(chromedp.Navigate(s.url + "/dashboard/explore?t=app&partial=1&view=patterns"))
	b.until(`document.querySelector('[data-ui=pattern]') && !document.querySelector('[data-ui=error]')`)
	b.click(`[data-ui=view-rows]`)
	b.until(loaded)
	b.click(`.banner[data-ui=partial] button`)
	b.until(`!location.search.includes('partial') && document.querySelector('[data-ui=error]')`)
}

// TestReload reloads a page with a search that was typed but not run, and with a link to a row that is
// not among the first ones.
func TestReload(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(900)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.fill(`[data-ui=search]`, "not run yet")
	eval[bool](b, `(window.before = true, location.reload(), true)`)
	b.until(`!window.before && ` + loaded + ` && document.querySelector('[data-ui=search]').value === 'not run yet'`)
	b.search("")
	b.until(`(document.querySelector('[data-ui=rows]').scrollTop = 1e9,
		document.querySelector('.foot').textContent.includes('900 (all)'))`)
	// A reload shows the rows that were visible.
	eval[bool](b, `(document.querySelector('[data-ui=rows]').scrollTop = 24 * 500, true)`)
	top := `[...document.querySelectorAll('[data-ui=row]')].find((r) => r.getBoundingClientRect().bottom >
		document.querySelector('[data-ui=rows]').getBoundingClientRect().top + 12).textContent`
	b.until(top + `.includes('request 399')`)
	eval[bool](b, `(window.before = true, location.reload(), true)`)
	b.until(`!window.before && ` + top + `.includes('request 399')`)
	b.click(`[data-ui=from-begin]`)
	b.until(`(document.querySelector('[data-ui=rows]').scrollTop = 1e9,
		document.querySelector('.foot').textContent.includes('900 (all)'))`)
	b.click(`[data-ui=row][data-index="890"]`)
	b.until(`document.querySelector('[data-ui=detail]')`)
	other := open(t, eval[string](b, `location.href`))
	other.until(`document.querySelector('[data-ui=row][aria-selected=true]').dataset.index === '0'`)
	other.until(`document.querySelector('.foot').textContent.includes('10 (all)')`)
	other.click(`[data-ui=from-begin]`)
	other.until(`document.querySelector('.foot').textContent.startsWith('200 loaded')`)
}

// TestUndo undoes typed text, and text that a click added to the search.
func TestUndo(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	text := `document.querySelector('[data-ui=search]').value`
	b.fill(`[data-ui=search]`, "failed")
	b.until(text + ` === 'failed'`)
	b.click(`[data-ui=value] [data-ui=value-in]`)
	b.until(text + `.length > 0 && ` + text + ` !== 'failed'`)
	clicked := eval[string](b, text)
	key := func(shift bool) {
		eval[bool](b, fmt.Sprintf(`(document.querySelector('[data-ui=search]').dispatchEvent(
			new KeyboardEvent('keydown', {key: 'z', ctrlKey: true, shiftKey: %v, bubbles: true, cancelable: true})), true)`,
			shift))
	}
	key(false)
	b.until(text + ` === 'failed'`)
	// The keys that do it again follow as soon as the text is shown, before the browser paints it.
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`new Promise((done) => {
		const box = document.querySelector('[data-ui=search]');
		const key = (shiftKey) => box.dispatchEvent(
			new KeyboardEvent('keydown', {key: 'z', ctrlKey: true, shiftKey, bubbles: true, cancelable: true}));
		new MutationObserver((_, watch) => {
			if (box.value !== '') return;
			watch.disconnect();
			key(true);
			key(true);
			done(true);
		}).observe(box.parentElement, {childList: true, subtree: true, characterData: true});
		key(false);
	})`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	b.until(text + ` === ` + quote(clicked))
}

// TestLongSearch runs a search that is too long for an address: the address bar shows a short link, which a reload and
// another tab follow.
func TestLongSearch(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	long := "failed" + strings.Repeat(` -"`+strings.Repeat("x", 700)+`"`, 10)
	b.search(long)
	b.until(`location.pathname.startsWith('/dashboard/s/') && ` + loaded)
	has := `document.querySelector('[data-ui=search]')?.value.length === ` + fmt.Sprint(len(long))
	b.until(has)
	eval[bool](b, `(window.before = true, location.reload(), true)`)
	b.until(`!window.before && ` + has)
	other := open(t, eval[string](b, `location.href`))
	other.until(has)
	other.until(`document.querySelector('[data-ui=total]').textContent.includes('3 rows')`)
	other.until(`location.pathname.startsWith('/dashboard/s/')`)
}

// TestNothingFound searches all fields for a word, and applies the field name that the server
// suggests.
func TestNothingFound(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	b := open(t, s.url+"/dashboard/explore?t=app&q=web-1")
	b.click(`[data-ui=every-field]`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('10 rows')`)
	b.until(`document.querySelector('[data-ui=search]').value === '*:web-1'`)
	b.search("hots:web-1")
	b.click(`[data-ui=nearest]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'host:web-1'`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('10 rows')`)
}

// TestSQLTabs opens several tabs, which must survive a reload. It sorts rows, opens a cell, shows the
// error of a statement at its position, and saves a plot as a picture.
func TestSQLTabs(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	statement := "SELECT host, count(*) AS n, '{\"a\":1}' AS doc FROM app GROUP BY host ORDER BY host"
	b := openWith(t, watch+keepDownloads, s.url+"/dashboard/sql?"+url.Values{"q": {statement}}.Encode())
	b.click(`[data-ui=run]`)
	cells := `[...document.querySelectorAll('.cells [role=gridcell]')].map((e) => e.textContent)`
	b.until(cells + `.slice(0, 2).join() === 'web-0,10'`)
	b.click(`.grid .colhead button`)
	b.click(`.grid .colhead button`) // descending
	b.until(cells + `[0] === 'web-2'`)
	b.click(`[data-ui=take]`)
	b.click(`[data-ui=save-csv]`)
	b.until(`window.saved['rows.csv'].startsWith('host,n,doc\r\nweb-2,10,"{""a"":1}"')`)
	b.click(`[data-ui=take]`)
	b.click(`[data-ui=save-json]`)
	b.until(`JSON.parse(window.saved['rows.json'])[0].n === 10`)
	eval[bool](b, `(document.querySelectorAll('.cells [role=gridcell]')[2].dispatchEvent(
		new MouseEvent('dblclick', {bubbles: true})), true)`)
	b.until(`document.querySelector('[data-ui=cell]').textContent === '{\n  "a": 1\n}'`)
	b.shoot("cell")
	b.click(`dialog .button:not(.main)`)
	b.click(`[data-ui=tab-plot]`)
	b.click(`[data-ui=plot-png]`)
	b.until(`window.saved['plot.png'] > 1000`)
	b.click(`[data-ui=sql-new]`)
	b.fill(`[data-ui=editor]`, "SELECT wrong FROM app")
	b.click(`[data-ui=run]`)
	b.until(`document.querySelector('.coloured-lines .c-wrong').textContent.includes('wrong')`)
	b.shoot("wrong-sql")
	eval[bool](b, `(window.before = true, location.reload(), true)`)
	b.until(`!window.before && document.querySelectorAll('[data-ui=sql-tab]').length === 2`)
	b.until(`document.querySelector('[data-ui=editor]').value === 'SELECT wrong FROM app'`)
	b.click(`[aria-label^="Close SELECT wrong"]`)
	b.until(`document.querySelector('[data-ui=editor]').value.startsWith('SELECT host')`)
}

// keepDownloads makes the page record the files that it saves: the content of texts, and the sizes of
// other files.
const keepDownloads = `window.saved = {}; HTMLAnchorElement.prototype.click = async function () {
	const blob = await (await fetch(this.href)).blob();
	saved[this.download] = blob.type.startsWith('image/') ? blob.size : await blob.text(); };
	{ const make = URL.createObjectURL; URL.createObjectURL = (blob) => {
	const href = make.call(URL, blob); kept.set(href, blob); return href; }; const kept = new Map(), ask = fetch;
	window.fetch = (path, how) => kept.has(path) ? Promise.resolve(new Response(kept.get(path))) : ask(path, how); }`

// TestCompareSearches compares the rows of two searches.
func TestCompareSearches(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(300)...)
	b := open(t, s.url+"/dashboard/explore?t=app&view=compare&q=level:error&wrong=1")
	b.until(`document.querySelector('[data-ui=toast]').textContent.includes('ignores it: wrong')`)
	b.fill(`[data-ui=compare-search]`, "level:info")
	b.until(`document.querySelector('[data-ui=compare-search]').value === 'level:info'`)
	eval[bool](b, `(document.querySelector('.withsearch').requestSubmit(), true)`)
	b.until(`location.search.includes('bq=level:info')`)
	b.until(`((text) => text.includes('30') && text.includes('270') && text.includes('the search'))(
		document.querySelector('.subhead').textContent)`)
	b.until(`[...document.querySelectorAll('[data-ui=compare-field]')].some((e) => e.ariaLabel === 'level')`)
	b.shoot("compare-searches")
}

// TestCopyRows copies the loaded rows as lines of JSON.
func TestCopyRows(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(5)...)
	clipboard := `Object.defineProperty(navigator, 'clipboard',
		{value: {writeText: async (text) => { window.copied = text; }}});`
	b := openWith(t, watch+clipboard, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=export]`)
	b.click(`[data-ui=copy-ndjson]`)
	b.until(`window.copied.split('\n').length === 5 && JSON.parse(window.copied.split('\n')[0]).host === 'web-1'`)
}

// TestPanes widens the list of fields, narrows the row, and closes the list. The browser must remember
// it.
func TestPanes(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	key := func(side, key string) {
		t.Helper()
		b.until(`document.querySelector('[data-ui=splitter-` + side + `]')`)
		eval[bool](b, `(document.querySelector('[data-ui=splitter-`+side+`]').dispatchEvent(
			new KeyboardEvent('keydown', {key: `+quote(key)+`, bubbles: true})), true)`)
	}
	key("left", "ArrowRight")
	b.until(`document.querySelector('.fieldlist').offsetWidth === 272`)
	b.click(`[data-ui=row]`)
	key("right", "ArrowRight")
	b.until(`document.querySelector('.detail').offsetWidth === 396`)
	b.press("Escape")
	b.until(`!document.querySelector('.detail')`)
	drag := func(event string, x int) {
		t.Helper()
		eval[bool](b, `((e) => { e.setPointerCapture = () => {}; e.dispatchEvent(new PointerEvent('pointer`+event+
			`', {clientX: `+quote(x)+`, bubbles: true})); return true })(document.querySelector('[data-ui=splitter-left]'))`)
	}
	drag("down", 272)
	drag("move", 60)
	b.until(`document.querySelector('.fieldlist').offsetWidth === 0`)
	b = open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded + ` && document.querySelector('.fieldlist').offsetWidth === 0`)
	b.click(`[data-ui=show-fields]`)
	b.until(`document.querySelector('.fieldlist').offsetWidth === 272`)
	eval[bool](b, `(localStorage.clear(), true)`)
}
