package webtest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// key presses a key as the keyboard does: the browser acts on it, too.
func (b *tab) key(name string, code int64) {
	b.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{
		input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp,
	} {
		if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: kind, Key: name, Code: name, WindowsVirtualKeyCode: code,
		}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestUnknownValues opens an address with values that have no meaning: the page must ignore them, and say so.
func TestUnknownValues(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	b := open(t, s.url+"/dashboard/explore?t=app&order=bogus&from=bogus&to=bogus&view=bogus&by=nobody&cols=nothing,host")
	b.until(loaded)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('50 rows')`)
	for _, text := range []string{"order=bogus", "from=bogus", "to=bogus", "view=bogus", "by=nobody", "cols=nothing"} {
		b.until(`document.querySelector('[data-ui=toast]').textContent.includes(` + quote(text) + `)`)
	}
	b.until(`!document.querySelector('[data-ui=error]')`)
	b.until(`[...document.querySelectorAll('.colhead [data-ui=column]')].map((e) => e.dataset.name).join() === 'host'`)
}

// TestKeyHelp opens the list of keys: it must show its first rows and scroll by keys, and Escape must close it.
func TestKeyHelp(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(5)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.do(chromedp.EmulateViewport(900, 420))
	b.until(loaded)
	b.press("?")
	list := `document.querySelector('dialog .keylist')`
	b.until(list + `.scrollHeight > ` + list + `.clientHeight && ` + list + `.scrollTop === 0`)
	b.until(`document.querySelector('dialog').scrollTop === 0 && document.activeElement === ` + list)
	b.until(`document.querySelector('dialog dt').getBoundingClientRect().top > 0`)
	b.until(`document.querySelector('dialog .button').getBoundingClientRect().bottom < innerHeight`)
	b.key("Escape", 27)
	b.until(`!document.querySelector('dialog')`)
}

// TestPhoneSearch types a search that is as long as its field on a phone: no part of it may be below the button.
func TestPhoneSearch(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.do(chromedp.EmulateViewport(390, 844))
	b.until(loaded)
	b.fill(`[data-ui=search]`, "served host:web-1 level:>=info -failed -another")
	b.until(`((run) => [...document.querySelectorAll('.coloured span')].every((e) =>
		[...e.getClientRects()].every((r) => r.right <= run.left)))(document.querySelector('[data-ui=run]')
		.getBoundingClientRect()) && document.querySelectorAll('.coloured span').length > 4`)
	b.until(`getComputedStyle(document.querySelector('.coloured')).padding ===
		getComputedStyle(document.querySelector('[data-ui=search]')).padding`)
	b.until(`document.querySelector('[data-ui=search]').scrollHeight <=
		document.querySelector('[data-ui=search]').clientHeight`)
	// The second line of a row names its source.
	b.until(`/^web-\d$/.test(document.querySelector('[data-ui=row] .src').textContent)`)
}

// TestNarrowLegend colours the bars by a field with long values, on the narrowest screen: the page must not scroll
// sideways, and every value must be in sight.
func TestNarrowLegend(t *testing.T) {
	s := start(t)
	rows := logs(60)
	for i := range rows {
		rows[i]["host"] = fmt.Sprintf("a-host-with-a-long-name-%d.example.com", i%4)
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app&by=host")
	b.do(chromedp.EmulateViewport(320, 700))
	b.until(`innerWidth === 320 && document.querySelectorAll('.legend button').length === 4`)
	b.until(`document.documentElement.scrollWidth <= innerWidth`)
	b.until(`[...document.querySelectorAll('.legend button')].every((e) => e.getBoundingClientRect().right <= innerWidth)`)
}

// TestNothingToCompare compares a range with the empty one before it, and with a search that finds nothing.
func TestNothingToCompare(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app&view=compare")
	b.until(`document.querySelector('[data-ui=compare] [data-ui=empty]').textContent.includes('range before has no rows')`)
	b.until(`!document.querySelector('[data-ui=compare-field]')`)
	b = open(t, s.url+"/dashboard/explore?t=app&view=compare&bq=nothinglikethis")
	b.until(`document.querySelector('[data-ui=compare] [data-ui=empty]').textContent.includes('B has no rows')`)
}

// TestRowsStandStill checks that nothing above the rows becomes higher while a search loads: the row under the pointer
// would be another one.
func TestRowsStandStill(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(300)...)
	late := watch + `const ask = fetch; window.fetch = async (path, how) => {
		const answer = await ask(path, how);
		if (/explore.(hits|facets)$/.test(path)) await new Promise((done) => { window.go = done });
		return answer; };`
	for _, width := range []int64{1440, 390} {
		b := openWith(t, late, s.url+"/dashboard/explore?t=app")
		b.do(chromedp.EmulateViewport(width, 844))
		b.until(loaded + ` && window.go && innerWidth === ` + quote(width))
		b.until(`document.querySelector('[data-ui=search]').placeholder.includes('warn') === (innerWidth > 760)`)
		top := `document.querySelector('[data-ui=row]').getBoundingClientRect().top`
		before := eval[float64](b, top)
		eval[bool](b, `(window.go(), true)`)
		b.until(`document.querySelector('[data-ui=bar]')`)
		if now := eval[float64](b, top); now != before {
			t.Errorf("at a width of %d, the rows went from %v to %v", width, before, now)
		}
	}
}

// TestFindValue finds a value that is not among the most frequent ones of its field.
func TestFindValue(t *testing.T) {
	s := start(t)
	rows := logs(900)
	for i := range rows {
		rows[i]["user"] = []string{"ann", "bob", "eve", "joe", "kim", "lea", "max", "pia", "tim", "zoe"}[i%10]
		if i%97 == 0 {
			rows[i]["user"] = "rare-one"
		}
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.until(`document.querySelector('[data-ui=value][data-value=ann]') && document.querySelector('.values .other')`)
	b.until(`!document.querySelector('[data-ui=value][data-value=rare-one]')`)
	b.fill(`[data-ui=value-find]`, "ra")
	b.click(`[data-ui=value][data-value=rare-one] [data-ui=value-in]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'user=rare-one'`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('10 rows')`)
}

// TestKeptFocus closes a row and its context: the list must have the focus.
func TestKeptFocus(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.press("j")
	b.until(`document.querySelector('[data-ui=detail]')`)
	eval[bool](b, `(document.querySelector('[data-ui=detail] .acts button').focus(), true)`)
	b.press("c")
	b.until(`document.querySelector('[data-ui=context-row]')`)
	b.press("Escape")
	b.until(`!document.querySelector('[data-ui=detail]') && document.activeElement.dataset.ui === 'rows'`)
	// A checkbox takes no letters: keys act while it has the focus.
	eval[bool](b, `(document.querySelector('[data-ui=value-any]').focus(), document.activeElement.dispatchEvent(
		new KeyboardEvent('keydown', {key: 'f', bubbles: true, cancelable: true})), true)`)
	b.until(`document.activeElement.id === 'field-find'`)
}

// TestLostRow opens a link to a row that is gone: the error stands where the row would, beside rows of the whole
// height, and can be closed.
func TestLostRow(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(60)...)
	b := open(t, s.url+"/dashboard/explore?t=app&row=1796017318771000000-a6966ed0e10c0000")
	b.until(loaded + ` && document.querySelector('[data-ui=lost-row] [data-ui=error]')`)
	b.until(`((row, list) => row.left >= list.right - 1 && row.top === list.top && row.bottom === list.bottom &&
		list.bottom > innerHeight - 40)(document.querySelector('[data-ui=lost-row]').getBoundingClientRect(),
		document.querySelector('section.list').getBoundingClientRect())`)
	b.click(`[data-ui=close-row]`)
	b.until(`!document.querySelector('[data-ui=lost-row]') && !location.search.includes('row=')`)
}

// TestSwappedRange enters the ends of a range in the wrong order: the form says so, and swaps them.
func TestSwappedRange(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(20)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=range]`)
	b.fill(`.ranges label:nth-of-type(1) input`, "now")
	b.fill(`.ranges label:nth-of-type(2) input`, "-2h")
	b.click(`.ranges form .main`)
	b.until(`document.querySelector('[data-ui=range-wrong]').textContent.includes('“-2h” is not after “now”')`)
	b.click(`[data-ui=swap-ends]`)
	b.click(`.ranges form .main`)
	b.until(`location.search.includes('from=-2h') && !location.search.includes('to=')`)
}
