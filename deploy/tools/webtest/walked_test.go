package webtest

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPressInMovingTail presses the button over a row while rows arrive, and releases it after more rows have arrived:
// this row must open.
func TestPressInMovingTail(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(60)...)
	b := open(t, s.url+"/dashboard/tail?t=app")
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
	s.ingest("app", logs(60)...)
	b.until(`document.querySelectorAll('[data-ui=row]').length > 20`)
	const under = `document.elementFromPoint(500, 500).closest('[data-ui=row]')`
	b.until(under)
	left := chromedp.Button("left")
	b.do(chromedp.MouseEvent(chromedp.MousePressed, 500, 500, left, chromedp.ClickCount(1)))
	pressed := eval[string](b, under+`.dataset.id`)
	s.ingest("app", logs(60)...)
	b.until(`document.querySelector('[data-ui=tail-new]').textContent.includes('60 new')`)
	b.do(chromedp.MouseEvent(chromedp.MouseReleased, 500, 500, left, chromedp.ClickCount(1)))
	b.until(`document.querySelector('[data-ui=detail]')`)
	b.until(`document.querySelector('[data-ui=row][aria-selected=true]').dataset.id === ` + quote(pressed))
}

// TestRefusedSearch runs a search that the server refuses: the counts and the SQL of the search before must not stay
// beside its error, which is underlined although it follows the last character. In a tail, the page offers the name
// that was meant.
func TestRefusedSearch(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('30 rows')`)
	b.until(`document.querySelector('[data-ui=value]')`)
	b.search("level:>=")
	b.until(`document.querySelector('[data-ui=error]').textContent.includes('value of level is missing')`)
	b.until(`!document.querySelector('[data-ui=total]') && !document.querySelector('[data-ui=bar]') &&
		!document.querySelector('[data-ui=value]') && !document.querySelector('.foot').textContent.includes('loaded') &&
		!document.querySelector('[data-ui=sql-line]').textContent.includes('SELECT')`)
	b.until(`document.querySelector('.coloured .wrong').textContent.endsWith('=')`)
	b.search("level:>=error")
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('3 rows')`)
	b.until(`document.querySelector('[data-ui=sql-line]').textContent.includes('SELECT')`)

	b.do(chromedp.Navigate(s.url + "/dashboard/tail?t=app&q=levels:x"))
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('app is not followed')`)
	b.click(`[data-ui=banner] [data-ui=nearest]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'level:x' &&
		document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
}

// TestSQLHistory runs several statements at once, of which each answer must be shown, and finds statements that ran
// after a reload, opens one again and forgets all.
func TestSQLHistory(t *testing.T) {
	s := start(t)
	b := openAlone(t, s.url+"/dashboard/sql")
	const cell = `document.querySelector('[data-ui=result] .cells').textContent.trim()`
	b.fill(`[data-ui=editor]`, "SELECT 1 AS a; SELECT 2 AS b")
	eval[bool](b, `(document.querySelector('[data-ui=editor]').select(), true)`)
	b.click(`[data-ui=run]`)
	b.until(`document.querySelectorAll('[data-ui=answer]').length === 2 && ` + cell + ` === '2'`)
	b.click(`[data-ui=answer]`)
	b.until(cell + ` === '1'`)
	b.fill(`[data-ui=editor]`, "SELECT 'needle' AS n")
	b.click(`[data-ui=run]`)
	b.until(cell + ` === 'needle' && !document.querySelector('[data-ui=answer]')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/sql"))
	const found = `[...document.querySelectorAll('[data-ui=history-statement]')]`
	b.click(`[data-ui=history]`)
	b.until(found + `.length === 2`)
	b.fill(`[data-ui=history-find]`, "a; select")
	b.until(found + `.length === 1`)
	b.click(`[data-ui=history-statement]`)
	b.until(`document.querySelector('[data-ui=editor]').value === 'SELECT 1 AS a; SELECT 2 AS b'`)
	b.do(chromedp.EmulateViewport(390, 844))
	b.click(`[data-ui=history]`)
	b.until(`((r) => r.top > 0 && r.left >= 0 && r.right <= innerWidth &&
		document.elementFromPoint(r.left + 30, r.top + 20).closest('.panel.history'))(
		document.querySelector('.panel.history').getBoundingClientRect())`)
	b.click(`[data-ui=history-forget]`)
	b.click(`[data-ui=history]`)
	b.until(`document.querySelector('.panel.history').textContent.includes('No statement')`)
}

// TestActionsByRights checks what the page offers users with different rights: changes of a table to those who have
// the privileges for them, and not to those who operate the cluster; and what it says to a user without rights.
func TestActionsByRights(t *testing.T) {
	s, password := startWithUsers(t)
	for user, statement := range map[string]string{
		"alt":  `GRANT SELECT, ALTER ON public.app TO alt`,
		"op":   `GRANT operator, reader TO op`,
		"none": "",
	} {
		s.run(`CREATE USER ` + user + ` PASSWORD '` + password + `'`)
		if statement != "" {
			s.run(statement)
		}
	}
	b := openAlone(t, s.url+"/dashboard/tables?t=app")
	b.signIn("alt", password)
	b.click(`[data-ui=table-actions]`)
	b.until(`[...document.querySelectorAll('[data-ui^=do-]')].map((e) => e.dataset.ui).join() ===
		'do-ttl,do-column,do-index'`)

	b = openAlone(t, s.url+"/dashboard/tables?t=app")
	b.signIn("op", password)
	b.until(`document.querySelector('[data-ui=ddl]')`)
	b.until(`!document.querySelector('[data-ui=table-actions]')`)

	b = openAlone(t, s.url+"/dashboard/explore")
	b.signIn("none", password)
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('no table that you may read')`)
	b.until(`document.querySelector('[data-ui=nav-settings]').textContent.includes('has no rights')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/tables"))
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('no table that you may read')`)
}

// TestTokenCommand creates tokens, and runs the commands that the page shows with them.
func TestTokenCommand(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	s, password := startWithUsers(t)
	b := openAlone(t, s.url+"/dashboard/settings")
	b.signIn("root", password)
	for _, token := range [][2]string{{"ingest", `"affectedrows":1`}, {"query", `"msg":"hello"`}} {
		scope, want := token[0], token[1]
		b.click(`[data-ui=new-token]`)
		b.fill(`[data-ui=ask-name]`, scope+"-1")
		b.change(`[data-ui=ask-scope]`, scope)
		b.fill(`[data-ui=ask-on]`, "public.fresh")
		b.click(`dialog [data-ui=confirm]`)
		b.until(`document.querySelector('[data-ui=token-command]')`)
		command := eval[string](b, `document.querySelector('[data-ui=token-command]').textContent`)
		out, err := exec.Command("sh", "-c", command).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s\n%v %s", command, err, out)
		}
		b.click(`[data-ui=secret-done]`)
		b.click(`[data-ui=secret-close]`) // the secret was not copied
		b.until(`!document.querySelector('[data-ui=secret]')`)
	}
}

// TestSavedOfOthers shares a saved search with another user, who opens it and must not replace or remove it. Its owner
// removes it.
func TestSavedOfOthers(t *testing.T) {
	s, password := startWithUsers(t)
	s.run(`CREATE USER bea PASSWORD '` + password + `'`)
	s.run(`GRANT SELECT ON public.app TO bea`)
	save := func(user, q string) *tab {
		b := openAlone(t, s.url+"/dashboard/explore?t=app&q="+q)
		b.signIn(user, password)
		b.until(`document.querySelector('[data-ui=total]')`)
		b.click(`[data-ui=saved]`)
		b.fill(`[data-ui=saved-name]`, "mine")
		b.click(`.panel [type=checkbox]`)
		return b
	}
	ann := save("ann", "failed")
	ann.click(`[data-ui=save-search]`)
	ann.until(`document.querySelector('[data-ui=toast]').textContent.includes('Saved as mine')`)
	bea := save("bea", "served")
	const refused = `document.querySelector('.panel [data-ui=error]').textContent.includes('is shared by ann')`
	bea.until(`document.querySelector('[data-ui=saved-search]').textContent.includes('shared by ann')`)
	bea.click(`[data-ui=save-search]`)
	bea.until(refused)
	bea.click(`.panel [aria-label="Remove mine"]`)
	bea.until(refused)
	bea.click(`[data-ui=saved-search]`)
	bea.until(`document.querySelector('[data-ui=search]').value === 'failed'`)
	ann.click(`[data-ui=saved]`)
	ann.click(`.panel [aria-label="Remove mine"]`)
	ann.until(`document.querySelector('[data-ui=toast]').textContent === 'mine is removed.'`)
	bea.click(`[data-ui=saved]`)
	bea.until(`document.querySelector('.panel').textContent.includes('No search is saved yet')`)
}
