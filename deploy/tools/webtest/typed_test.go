package webtest

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The search box.
const searchText = `document.querySelector('[data-ui=search]').value`

// TestFirstVisitOfAdministrator opens the page of a server that has no rows, and whose only table is that of the
// records of changes: the page offers to add data.
func TestFirstVisitOfAdministrator(t *testing.T) {
	s, password := startWithAdmin(t)
	b := openAlone(t, s.url+"/dashboard/")
	b.signIn("root", password)
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('There is no table yet')`)
	b.until(`document.querySelector('[data-ui=empty] a.main').getAttribute('href') === '/dashboard/add'`)
	b.do(chromedp.Navigate(s.url + "/dashboard/explore?db=svc_private&t=audit"))
	b.until(loaded) // who asks for that table sees it
}

// TestTypedSearchStays types a search and does not run it: another range and a value that is clicked leave it there.
// A search that begins on another page replaces it.
func TestTypedSearchStays(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app&q=request")
	b.until(loaded)
	b.fill(`[data-ui=search]`, "failed")
	b.click(`[data-ui=range]`)
	b.click(`.panel.ranges .choice`)
	b.until(`location.search.includes('from=') && ` + loaded)
	b.until(searchText + ` === 'failed' && location.search.includes('q=request')`)
	b.click(`[data-ui=value][data-value=ERROR] [data-ui=value-in]`)
	b.until(searchText + ` === 'failed level=ERROR' &&
		document.querySelector('[data-ui=total]').textContent === '10 rows'`)
	b.click(`[data-ui=nav-tail]`)
	b.until(`location.pathname.endsWith('/tail') && document.querySelector('[data-ui=tail-state]')`)
	b.search("level:info")
	b.until(`location.search.includes('level:info')`)
	b.click(`[data-ui=explore-this]`)
	b.until(`location.pathname.endsWith('/explore') && ` + searchText + ` === 'level:info'`)
}

// TestTableUsedLastIsGone drops the table that was used last, whose columns were chosen: the page shows another.
func TestTableUsedLastIsGone(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(20)...)
	s.ingest("other", logs(20)...)
	b := openAlone(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=field][data-name=host] .col`)
	b.until(`location.search.includes('cols=host')`)
	s.run("DROP TABLE app")
	b.do(chromedp.Navigate(s.url + "/dashboard/"))
	b.until(`location.search.includes('t=other') && ` + loaded)
}

// TestPathsOfJSON counts the values of a path in a column of JSON, keeps the rows with one of them, and shows the path
// in a column and in the line.
func TestPathsOfJSON(t *testing.T) {
	s := start(t)
	s.run("CREATE TABLE app (ts TIMESTAMP TIME INDEX, msg STRING, k JSON)")
	s.run(`INSERT INTO app VALUES (now(), 'one', '{"labels":{"app":"cart"},"zone":"a"}'),` +
		`(now(), 'two', '{"labels":{"app":"auth"},"zone":"a"}'), (now(), 'three', '{"labels":{"app":"cart"},"zone":"b"}')`)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.until(`document.querySelector('[data-ui=row-line]').textContent.includes('app=')`)
	b.click(`[data-ui=field][data-name="k.labels.app"] .col`)
	b.until(`[...document.querySelectorAll('.row .src')].map((e) => e.textContent).sort().join() === 'auth,cart,cart'`)
	b.click(`[data-ui=field][data-name="k.labels.app"] button`)
	b.click(`[data-ui=value][data-value=cart] [data-ui=value-in]`)
	b.until(searchText + ` === 'k.labels.app=cart' && document.querySelector('[data-ui=total]').textContent === '2 rows'`)
	b.click(`[data-ui=row]`)
	b.click(`[data-ui=detail-field][data-name="k.zone"] [data-ui=value-out]`)
	b.until(`/^k.labels.app=cart -k.zone=[ab]$/.test(` + searchText + `) &&
		document.querySelector('[data-ui=total]').textContent === '1 row'`)
}

// TestRowsOfSeveralTables says of which table a row is, and keeps the rows of one of them.
func TestRowsOfSeveralTables(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	s.ingest("web", logs(20)...)
	b := open(t, s.url+"/dashboard/explore?t=app&t=web")
	b.until(loaded)
	b.click(`[data-ui=field][data-name=_table] .col`)
	b.until(`[...document.querySelectorAll('.row .src')].some((e) => e.textContent === 'web')`)
	b.click(`[data-ui=value][data-value=web] [data-ui=value-in]`)
	b.until(searchText + ` === '_table=web' && document.querySelector('[data-ui=total]').textContent === '20 rows'`)
	b.click(`[data-ui=row]`)
	b.until(`document.querySelector('[data-ui=detail-field][data-name=_table]').textContent.includes('web')`)
}

// TestPatternsShowHiddenCharacters checks that a pattern does not reverse what stands behind it.
func TestPatternsShowHiddenCharacters(t *testing.T) {
	s := start(t)
	rows := logs(10)
	for _, row := range rows {
		row["msg"] = "from \u202edlrow\u202c here"
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app&view=patterns")
	b.until(`document.querySelector('[data-ui=pattern] .only').textContent === 'from \\u202edlrow\\u202c here'`)
}

// TestOneLineOverRowsOfPhone checks that the head of the list has one line on a phone, and its menu what can be done.
func TestOneLineOverRowsOfPhone(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	for _, width := range []int64{390, 320} {
		b := openWith(t, watch, "about:blank")
		b.do(chromedp.EmulateViewport(width, 844), chromedp.Navigate(s.url+"/dashboard/explore?t=app"))
		b.until(loaded)
		b.until(`document.querySelector('.list > .head').getBoundingClientRect().height < 50`)
		b.click(`[data-ui=list-acts]`)
		b.click(`.panel [data-ui=wrap]`)
		b.until(`location.search.includes('wrap=1') && document.querySelector('.rows.wrapped')`)
	}
}
