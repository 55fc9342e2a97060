package webtest

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestSearchForText takes what the server did not understand as text.
func TestSearchForText(t *testing.T) {
	s := start(t)
	rows := logs(30)
	rows[3]["msg"] = "got lvel:high from the sensor"
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app&q=sensor+lvel:high")
	b.click(`[data-ui=as-text]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'sensor "lvel:high"'`)
	b.until(`document.querySelector('[data-ui=total]').textContent === '1 row'`)
}

// TestValuesFail checks that the fields say that their values could not be counted, and the rows stay.
func TestValuesFail(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	b := openWith(t, watch+answering("/explore/facets", "500", `{code: 1003, error: 'the disk is full'}`),
		s.url+"/dashboard/explore?t=app")
	b.until(`document.querySelector('.fieldlist [data-ui=error]').textContent.includes('the disk is full.')`)
	b.until(`document.querySelector('[data-ui=row]') && !document.querySelector('.list [data-ui=error]')`)
}

// TestEnterAndSpace opens a row with Enter, and goes on to its fields. On a button, Enter and space click it.
func TestEnterAndSpace(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.key("Enter", 13)
	b.until(`document.querySelector('.row.on').dataset.index === '0'`)
	b.until(`document.querySelector('[data-ui=detail] dl button')`)
	b.key("Enter", 13)
	b.until(`document.activeElement.closest('[data-ui=detail-field]')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/tail?t=app"))
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
	b.click(`[data-ui=empty] .button`)
	b.until(`document.querySelectorAll('[data-ui=row]').length === 30`)
	eval[bool](b, `(() => { const clear = [...document.querySelectorAll('.tailbar button')].find((e) =>
		e.textContent === 'Clear'); clear.focus(); return document.activeElement === clear; })()`)
	b.key(" ", 32)
	b.until(`!document.querySelector('[data-ui=row]') &&
		document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
}

// TestReaderMayNotDrop checks that a statement that removes a table is not offered to a user who may only read it.
func TestReaderMayNotDrop(t *testing.T) {
	s, password := startWithAdmin(t)
	s.ingest("app", logs(3)...)
	s.run("CREATE USER ann PASSWORD 'a long password'")
	s.run("GRANT SELECT ON public.app TO ann")
	for user, may := range map[string]string{"ann": "a long password", "root": password} {
		b := openAlone(t, s.url+"/dashboard/sql?q=DROP+TABLE+app")
		b.signIn(user, may)
		b.until(`!document.querySelector('.signin') &&
			document.querySelector('[data-ui=nav-settings]').textContent.includes(` + quote(user) + `)`)
		b.click(`[data-ui=run]`)
		if user == "root" {
			b.until(`document.querySelector('[data-ui=run-anyway]:not([disabled])')`)
			continue
		}
		b.until(`document.querySelector('[data-ui=run-anyway]').disabled`)
		b.until(`document.querySelector('[data-ui=lacks]').textContent.includes('DROP on public.app')`)
	}
}

// TestDialogAtOnce opens the palette: as soon as it is there, it has all keys. Escape closes it, with a text too, and
// the focus returns.
func TestDialogAtOnce(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(3)...)
	b := openWith(t, watch+`new MutationObserver(() => {
		const dialog = document.querySelector('dialog');
		if (dialog) window.modal ??= dialog.matches(':modal');
	}).observe(document, {childList: true, subtree: true});`, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.clickByMouse(`[data-ui=palette]`)
	b.fill(`[data-ui=palette-text]`, "app")
	b.until(`document.querySelector('.palette [aria-selected=true]').textContent.includes('app')`)
	if !eval[bool](b, `window.modal`) {
		t.Error("the palette was on the screen before it had the keys")
	}
	b.key("Escape", 27)
	b.until(`!document.querySelector('dialog') && document.activeElement.dataset.ui === 'palette'`)
}

// TestTimeBesideOpenRow reads how far a row is from the one that is open.
func TestTimeBesideOpenRow(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=row][data-index="2"]`)
	b.until(`document.querySelector('[data-ui=detail]')`)
	const first = `document.querySelector('[data-index="0"] [data-ui=row-time]')`
	eval[bool](b, first+`.dispatchEvent(new MouseEvent('mouseenter'))`)
	b.until(first + `.title.includes('200 ms after the open row')`)
}
