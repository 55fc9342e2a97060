package webtest

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestUnknownLevel checks that a comparison with a level that does not exist is an error with the level that may be
// meant, and that another level's search says which levels are usual.
func TestUnknownLevel(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app&q=level:%3E%3Dwrn")
	b.until(`document.querySelector('[data-ui=error]').textContent.includes('fatal, error, warn, info, debug, trace')`)
	b.until(`document.querySelector('.coloured .wrong')`)
	// The error takes only the room that it needs, and fields whose values are not known are not shown open.
	b.until(`document.querySelector('[data-ui=error]').getBoundingClientRect().height < 200`)
	b.until(`document.querySelectorAll('[data-ui=field]').length > 0 && !document.querySelector('.fields h3.open')`)
	b.shoot("unknown-level")
	b.click(`[data-ui=nearest]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'level:>=warn'`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('10 rows')`)
	b.search("level:errr")
	b.until(`document.querySelector('[data-ui=unusual-level]').textContent.includes('level errr')`)
}

// TestMarksOfSearch checks that the marks at the right edge are those of the rows beside them after a search that finds
// as many rows as the one before.
func TestMarksOfSearch(t *testing.T) {
	s := start(t)
	rows := logs(40)
	for i, row := range rows {
		row["part"], row["level"] = "a", "info"
		if i < 20 {
			row["part"], row["level"] = "b", "error"
		}
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app&q=part%3Aa")
	b.until(`document.querySelectorAll('[data-ui=row]').length === 20 && !document.querySelector('.grain i')`)
	b.search("part:b")
	b.until(`document.querySelectorAll('[data-ui=row][data-level=error]').length === 20`)
	b.until(`document.querySelectorAll('.grain i.error').length === 20`)
	// Of a short list, each mark stands beside its row.
	b.until(`((row, mark) => mark.top >= row.top && mark.bottom <= row.bottom)(
		[...document.querySelectorAll('[data-ui=row]')][10].getBoundingClientRect(),
		[...document.querySelectorAll('.grain i')][10].getBoundingClientRect())`)
}

// TestInvisible checks that characters that nobody sees, and that reverse text, are marked in a statement, in its tab
// and in the question before it runs.
func TestInvisible(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/sql?q=DROP%20TABLE%20%22%E2%80%AEabc%22")
	b.until(`document.querySelector('[data-ui=editor]').value.includes('\u202eabc')`)
	b.until(`document.querySelectorAll('.coloured-lines .unseen').length === 1 &&
		document.querySelector('.coloured-lines').textContent.includes('"abc"') &&
		document.querySelector('[data-ui=sql-tab]').textContent.includes('"\\u202eabc"')`)
	b.click(`[data-ui=run]`)
	b.until(`document.querySelector('dialog h2').textContent === 'Drop the table \\u202eabc?' &&
		document.querySelector('dialog .asked').textContent.includes('"\\u202eabc"')`)
	b.click(`dialog [data-ui=close-dialog]`)
	b.click(`[data-ui=unseen] button`)
	b.until(`document.querySelector('[data-ui=editor]').value === 'DROP TABLE "abc"' &&
		!document.querySelector('[data-ui=unseen]')`)
	s.ingest("app", logs(3)...)
	b.do(chromedp.Navigate(s.url + "/dashboard/explore?t=app&q=host%3D%E2%80%AEabc"))
	b.until(`document.querySelector('[data-ui=sql-line] code').textContent.includes("'\\u202eabc'") &&
		document.querySelector('.coloured .unseen') && document.querySelector('.coloured').textContent.includes('host=abc')`)
}

// TestBackToPlace leaves Explore in the middle of its list: Back shows the same rows.
func TestBackToPlace(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(1000)...)
	b := open(t, s.url+"/dashboard/explore?t=app&q=level%3Ainfo&from=-6h")
	b.until(loaded)
	b.until(`(document.querySelector('.list [data-ui=rows]').scrollTop = 1e6,
		Number(document.querySelector('[data-ui=row]').dataset.index) > 400)`)
	seen := `[...document.querySelectorAll('[data-ui=row]')].find((e) => e.dataset.id && e.getBoundingClientRect().top >
		document.querySelector('.list [data-ui=rows]').getBoundingClientRect().top)`
	b.until(seen)
	row := eval[string](b, seen+`.dataset.id`)
	eval[bool](b, `(document.querySelector('.said a').click(), true)`)
	b.until(`document.querySelector('[data-ui=editor]')`)
	eval[bool](b, `(history.back(), true)`)
	b.until(loaded)
	b.until(`[...document.querySelectorAll('[data-ui=row]')].some((e) => e.dataset.id === ` + quote(row) + ` &&
		e.getBoundingClientRect().top > 0 && e.getBoundingClientRect().bottom < innerHeight)`)
}

// TestLinesInJSON checks that a stack trace in JSON is shown by lines, and as it is stored on request.
func TestLinesInJSON(t *testing.T) {
	s := start(t)
	rows := logs(1)
	rows[0]["detail"] = `{"kind":"IO","stack":"boom\n\tat Cart.total"}`
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.clickByMouse(`[data-ui=row]`)
	value := `document.querySelector('[data-ui=detail-field][data-name=detail] [data-ui=detail-value]').textContent`
	b.until(value + `.includes('"stack": "boom\n    \tat Cart.total"')`)
	b.click(`[data-ui=as-stored]`)
	b.until(value + `.includes('boom\\n\\tat')`)
}

// TestColumnByKey chooses a column without the mouse.
func TestColumnByKey(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(5)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.press("e")
	b.until(`document.activeElement.matches('.panel .find')`)
	b.keys("hos\r")
	b.until(`new URLSearchParams(location.search).get('cols') === 'host' && document.activeElement.value === ''`)
	b.until(`document.querySelector('.colhead [data-name=host]')`)
}

// TestWrongPassword checks that what is typed after a wrong password replaces it, and that Settings keeps its name.
func TestWrongPassword(t *testing.T) {
	s, password := startWithAdmin(t)
	b := openAlone(t, s.url+"/dashboard/tables")
	b.signIn("root", "not this one")
	b.until(`document.querySelector('.signin .wrong')`)
	b.until(`((e) => e.dataset.ui === 'login-password' && e.selectionStart === 0 &&
		e.selectionEnd === e.value.length)(document.activeElement)`)
	b.keys(password + "\r")
	b.until(`!document.querySelector('.signin')`)
	b.until(`document.querySelector('[data-ui=nav-settings]').textContent.replace(/\s+/g, ' ') === 'Settings root'`)
}

// TestTableList sorts by the newest row, and checks that the page of a table has values of a field that few rows have.
func TestTableList(t *testing.T) {
	s := start(t)
	old := logs(30)
	for i, row := range old {
		row["ts"] = row["ts"].(int64) - 3_600_000
		if i == 29 {
			row["seldom"] = "once"
		}
	}
	s.ingest("anew", logs(1)...)
	s.ingest("bold", old...)
	b := open(t, s.url+"/dashboard/tables")
	first := `[...document.querySelectorAll('[data-ui=table-row]')].map((e) => e.dataset.name).join() === `
	b.until(first + `'anew,bold'`)
	head := `[...document.querySelectorAll('.tablehead button')].find((e) => e.textContent.startsWith('newest row'))`
	eval[bool](b, `(`+head+`.click(), true)`)
	b.until(first + `'anew,bold' && ` + head + `.textContent.includes('↓')`)
	eval[bool](b, `(`+head+`.click(), true)`)
	b.until(first + `'bold,anew'`)
	b.click(`[data-name=bold] a`)
	b.until(`[...document.querySelectorAll('.samples')].some((e) => e.textContent === 'once')`)
}

// TestRejectsInBar checks that the number of rejects, which comes late, does not move the links beside it.
func TestRejectsInBar(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/tables")
	b.until(`document.querySelector('[data-ui=health]')`)
	left := `document.querySelector('[data-ui=nav-tables]').getBoundingClientRect().left`
	before := eval[float64](b, left)
	s.storePipeline("mine", pipelineText)
	s.reject("app")
	b.do(chromedp.Navigate(s.url + "/dashboard/tables"))
	b.until(`document.querySelector('[data-ui=nav-rejects] small').textContent === '1'`)
	if after := eval[float64](b, left); after != before {
		t.Errorf("the link to the tables moved from %v to %v", before, after)
	}
}
