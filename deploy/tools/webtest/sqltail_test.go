package webtest

import "testing"

// TestTailOfMissingTable follows a table that does not exist yet: its first rows must appear.
func TestTailOfMissingTable(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/tail?t=later")
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('There is no table later yet')`)
	b.until(`!document.querySelector('[data-ui=error]')`)
	s.ingest("later", logs(3)...)
	b.until(`document.querySelectorAll('[data-ui=row]').length === 3`)
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
}

// TestTailFault follows a table with a search that is wrong: the page underlines the wrong part. A parameter of the
// address that the page does not know is named.
func TestTailFault(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(3)...)
	b := open(t, s.url+"/dashboard/tail?t=app&q=failed%20lvl:x&other=1")
	b.until(`document.querySelector('[data-ui=toast]').textContent.includes('ignores it: other')`)
	b.until(`document.querySelector('[data-ui=banner]').textContent.includes('no field lvl')`)
	b.until(`document.querySelector('.coloured .wrong').textContent.includes('lvl')`)
	b.until(`document.querySelector('[data-ui=search]').getAttribute('aria-invalid') === 'true'`)
	b.search("failed")
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
	b.until(`!document.querySelector('.coloured .wrong')`)
}

// TestSQLNearest takes the name that an error proposes for a wrong one: it is written into the statement, which runs.
func TestSQLNearest(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(3)...)
	b := open(t, s.url+"/dashboard/sql?q=SELECT+hots+FROM+app")
	b.click(`[data-ui=run]`)
	b.until(`document.querySelector('[data-ui=nearest]').textContent === 'host'`)
	b.click(`[data-ui=nearest]`)
	b.until(`document.querySelector('[data-ui=result]').textContent.includes('web-1')`)
	b.until(`document.querySelector('textarea').value === 'SELECT host FROM app'`)
}

// TestSQLAsks checks which texts need a confirmation: several selected statements of which one changes something, but
// not a typing error. A view in the address that does not exist is ignored and named.
func TestSQLAsks(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(3)...)
	b := open(t, s.url+"/dashboard/sql?tab=bogus&wrong=1&q=SELEC%201")
	b.until(`document.querySelector('[data-ui=toast]').textContent.includes('tab=bogus, wrong')`)
	b.click(`[data-ui=run]`)
	b.until(`document.querySelector('[data-ui=error]').textContent.includes('SELEC')`)
	b.until(`!document.querySelector('dialog')`)
	b.until(`document.querySelector('.c-wrong').textContent === 'SELEC'`)
	b.fill(`[data-ui=editor]`, "SELECT 1; DROP TABLE app")
	eval[bool](b, `(document.querySelector('[data-ui=editor]').select(), true)`)
	b.click(`[data-ui=run]`)
	b.until(`document.querySelector('dialog[open]').textContent.includes('DROP TABLE app')`)
	b.until(`document.querySelector('dialog h2').textContent === 'Drop the table app?' &&
		document.querySelector('[data-ui=loss]').textContent.includes('It has 3 rows')`)
	b.until(`document.activeElement.dataset.ui === 'close-dialog'`) // Enter does not run it
	b.shoot("asked")
	b.key("Escape", 27)
	b.until(`!document.querySelector('dialog')`)
	b.fill(`[data-ui=editor]`, "SELECT count(*) AS n FROM app")
	b.click(`[data-ui=run]`)
	b.until(`document.querySelector('[data-ui=tab-table]').ariaPressed === 'true'`)
	b.until(`document.querySelector('[data-ui=result] .cells').textContent.trim() === '3'`)
}
