package webtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func quote(v any) string {
	text, _ := json.Marshal(v) // cannot fail for a string or a number
	return string(text)
}

const loaded = `document.querySelectorAll('[data-ui=row]').length > 0`

// TestSearch types a word and checks the rows, their number, and the SQL. Clicks on a value and on a
// word of the legend must edit the text, and Back must return.
func TestSearch(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(500)...)
	b := open(t, s.url+"/")
	b.until(loaded)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('500 rows')`)
	b.search("failed")
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('50 rows')`)
	b.until(`document.querySelector('[data-ui=sql-line]').textContent.includes("matches_term(msg, 'failed')")`)
	b.until(`[...document.querySelectorAll('[data-ui=row]')].every((r) => r.dataset.level === 'error')`)
	b.until(`document.querySelector('[data-ui=row-line] mark').textContent === 'failed'`)
	b.until(`document.querySelectorAll('[data-ui=bar]').length > 10`)
	b.click(`[data-ui=field][data-name=host] button`)
	if !eval[bool](b, `!!document.querySelector('[data-value=web-1]')`) {
		b.click(`[data-ui=field][data-name=host] button`) // close the open field
	}
	b.click(`[data-value=web-1] [data-ui=value-in]`)
	b.until(`location.search.includes('host%3Dweb-1') || location.search.includes('host=web-1')`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('17 rows')`)
	eval[bool](b, `(history.back(), true)`)
	b.until(`document.querySelector('[data-ui=search]').value === 'failed'`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('50 rows')`)
}

// openRow opens a row with an error among 450 rows of the table app. It returns the id of the row.
func openRow(t *testing.T) (b *tab, id string) {
	t.Helper()
	s := start(t)
	s.ingest("app", logs(450)...)
	b = open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=row][data-level=error]`)
	b.until(`document.querySelector('[data-ui=detail]')`)
	return b, eval[string](b, `document.querySelector('[data-ui=row][aria-selected=true]').dataset.id`)
}

// TestRow opens a row, moves to others, and opens the same link in another tab.
func TestRow(t *testing.T) {
	b, first := openRow(t)
	eval[bool](b, `(dispatchEvent(new KeyboardEvent('keydown', {key: 'j'})), true)`)
	b.until(`document.querySelector('[data-ui=row][aria-selected=true]').dataset.id !== ` + quote(first))
	link := eval[string](b, `location.href`)
	other := open(t, link)
	other.until(`document.querySelector('[data-ui=detail]')`)
	id := `document.querySelector('[data-ui=row][aria-selected=true]').dataset.id`
	if got, want := eval[string](other, id), eval[string](b, id); got != want {
		t.Errorf("the link opens %s, want %s", got, want)
	}
	// The context shows the rows before and after it, in order of time.
	eval[bool](b, `(dispatchEvent(new KeyboardEvent('keydown', {key: 'c'})), true)`)
	b.until(`document.querySelector('section[data-ui=context] [data-ui=context-row][aria-selected=true]').dataset.id` +
		` === ` + quote(eval[string](other, id)))
	b.until(`Number(document.querySelector('section[data-ui=context] [data-ui=rows]').getAttribute('aria-rowcount')) > 20`)
	b.until(`((rows) => rows.every((r, i) => i === 0 || r <= rows[i - 1] === false || r === rows[i - 1]))(
		[...document.querySelectorAll('section[data-ui=context] time')].map((t) => Date.parse(t.dateTime)))`)
	eval[bool](b, `(dispatchEvent(new KeyboardEvent('keydown', {key: 'c'})), true)`)
	b.until(`!document.querySelector('section[data-ui=context]')`)
	eval[bool](b, `(dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'})), true)`)
	b.until(`!document.querySelector('[data-ui=detail]')`)
	// Scrolling to the end loads all pages, with no row twice.
	b.until(`(document.querySelector('[data-ui=rows]').scrollTop = 1e9,
		document.querySelector('.foot').textContent.includes('450 (all)'))`)
}

// TestUnsearchableValues checks that values which a search cannot find are counted, but not offered as searches.
func TestUnsearchableValues(t *testing.T) {
	s := start(t)
	var rows []map[string]any
	for i, host := range []string{"web", "a\x00b", strings.Repeat("x", 3000) + "1", strings.Repeat("x", 3000) + "2"} {
		rows = append(rows, map[string]any{
			"ts": time.Now().UnixMilli() - int64(i), "level": "info", "msg": "m", "host": host,
		})
	}
	s.ingest("app", slices.Concat(rows, rows)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	const host = `[...document.querySelectorAll('[data-ui=value-in]')]`
	const head = `document.querySelector('[data-ui=field][data-name=host]')`
	b.until(head)
	eval[bool](b, `(`+head+`.classList.contains('open') || `+head+`.querySelector('button').click(), true)`)
	b.until(host + `.filter((v) => v.textContent.startsWith('xxx') && v.disabled && v.title.includes('2.9 KiB'))
		.length === 2`)
	b.until(host + `.some((v) => v.textContent.startsWith('a') && v.disabled && v.title.includes('NUL'))`)
	b.until(host + `.some((v) => v.textContent === 'web' && !v.disabled)`)
}

// TestHostileText checks that markup, links and control characters in rows are shown as text.
func TestHostileText(t *testing.T) {
	s := start(t)
	hostile := []string{
		`<script>window.hacked = 1</script>`, `<img src=x onerror="window.hacked = 1">`, `"><svg onload=alert(1)>`,
		`javascript:alert(1)`, "a\u202eb", "nul\x00 esc\x1b[31m", `{{hash}}`, `${1+1}`, strings.Repeat("x", 100000),
	}
	var rows []map[string]any
	for i, text := range hostile {
		rows = append(rows, map[string]any{
			"ts": time.Now().UnixMilli() - int64(i), "level": text, "msg": text, "<b>field": text,
		})
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app&cols=%3Cb%3Efield&q="+"%22%3Cimg%20src%3Dx%22")
	b.until(loaded)
	b.until(`document.querySelector('[data-ui=row-line]').textContent.includes('<img src=x onerror')`)
	b.click(`[data-ui=row]`)
	b.until(`document.querySelector('[data-ui=detail]')`)
	eval[bool](b, `(history.back(), true)`)
	b.search("")
	b.until(`document.querySelectorAll('[data-ui=row]').length === ` + "9")
	b.until(`document.querySelector('[data-ui=rows]').textContent.includes('a\\u202eb')`)
	if eval[bool](b, `!!window.hacked ||
		!!document.querySelector('main img, main script, [onload], [onerror], main [href^="javascript"]')`) {
		t.Error("a text became markup")
	}
	if n := eval[int](b, `document.querySelector('[data-ui=rows]').textContent.length`); n > 60000 {
		t.Errorf("the list has %d characters: a long text was not cut", n)
	}
}

// TestStates checks the page if nothing is found, if a search is invalid, and if there is no table.
func TestStates(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/")
	b.until(`document.querySelector('[data-ui=empty] ~ *, [data-ui=empty]').textContent.includes('There is no table yet')`)
	s.ingest("app", logs(20)...)
	b = open(t, s.url+"/dashboard/explore?t=app&q=lvel:x")
	b.until(`document.querySelector('[data-ui=error]').textContent.includes('level')`)
	b.until(`document.querySelector('.wrong')?.textContent.includes('lvel')`)
	b.search("nothinglikethis")
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('None of the 20 rows in this range')`)
	b = open(t, s.url+"/dashboard/explore?t=gone")
	b.until(`document.querySelector('[data-ui=error]').textContent.includes('gone')`)
}

// TestTail follows a table: rows must appear by themselves, and a list that is scrolled up must not
// move.
func TestTail(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(3)...)
	b := open(t, s.url+"/dashboard/tail?t=app&q=failed")
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
	s.ingest("app", logs(600)...)
	b.until(`document.querySelector('[data-ui=rows]')?.getAttribute('aria-rowcount') === '60'`)
	eval[bool](b, `(document.querySelector('[data-ui=rows]').scrollTop = 0, true)`)
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Held')`)
	top := eval[string](b, `document.querySelector('[data-ui=row]').textContent`)
	s.ingest("app", logs(600)...)
	b.until(`document.querySelector('[data-ui=tail-new]').textContent.includes('60 new rows')`)
	if now := eval[string](b, `document.querySelector('[data-ui=row]').textContent`); now != top {
		t.Errorf("the first row became %q from %q", now, top)
	}
	b.click(`[data-ui=tail-new]`)
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
	// With wrapped lines, the list must follow to its end, also when it drops rows.
	b.click(`[data-ui=wrap]`)
	eval[bool](b, `(() => { const keep = document.querySelector('.tailbar select'); keep.value = '1000';
		keep.dispatchEvent(new Event('change', {bubbles: true})); return true })()`)
	rows := logs(12_000)
	for i := range rows {
		rows[i]["msg"] = fmt.Sprint(rows[i]["msg"], strings.Repeat(" long", i%900))
	}
	s.ingest("app", rows...)
	b.until(`document.querySelector('[data-ui=tail-dropped]')`)
	b.until(`document.querySelector('[data-ui=rows]').getAttribute('aria-rowcount') === '1000'`)
	b.until(`(() => { const e = document.querySelector('[data-ui=rows]');
		const r = [...e.querySelectorAll('[data-ui=row]')].at(-1);
		const under = e.getBoundingClientRect().bottom - r.getBoundingClientRect().bottom;
		return r.dataset.index === '999' && r.offsetHeight > 40 && Math.abs(under) < 20 })()`)
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
}

// TestPhone checks the page at the width of a phone: nothing scrolls sideways, and a row opens as a
// sheet.
func TestPhone(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	for _, level := range []string{"FATAL", "WARN", "DEBUG", "TRACE"} { // long texts for screen readers
		s.ingest("app", map[string]any{"ts": time.Now().UnixMilli(), "level": level, "msg": "one more"})
	}
	b := open(t, s.url+"/dashboard/explore?t=app")
	for _, width := range []int64{390, 320} {
		b.do(chromedp.EmulateViewport(width, 844))
		b.until(loaded)
		b.until(`document.documentElement.scrollWidth <= innerWidth`)
		b.click(`[data-ui=row]`)
		b.until(`document.querySelector('[data-ui=detail]')?.getBoundingClientRect().width >= innerWidth - 1`)
		eval[bool](b, `(history.back(), true)`)
		b.until(`!document.querySelector('[data-ui=detail]')`)
	}
}

// TestPanesFillTheWindow checks at the widths of a phone, a tablet and a desktop that the panes of each page fill the
// window from its left to its right edge.
func TestPanesFillTheWindow(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	for path, last := range map[string]string{
		"explore?t=app": "section.list", "tail?t=app": "section.list", "tables": ".panes.two > :first-child",
	} {
		b := open(t, s.url+"/dashboard/"+path)
		for _, width := range []int64{390, 900, 1440} {
			b.do(chromedp.EmulateViewport(width, 844))
			b.until(`innerWidth === ` + fmt.Sprint(width) + ` && document.querySelector('` + last + `')
				&& innerWidth - document.querySelector('` + last + `').getBoundingClientRect().right < 2`)
			if !strings.HasPrefix(path, "explore") || width < 761 { // in Explore, the fields are to the left of the rows
				b.until(`document.querySelector('` + last + `').getBoundingClientRect().left < 2`)
			}
		}
	}
}

// TestOtherSites checks that requests of pages of other sites are refused, and that --ui=false turns
// the page off.
func TestOtherSites(t *testing.T) {
	s := start(t, "--ui=false")
	if resp, err := http.Get(s.url + "/dashboard/"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("%v %v", resp, err)
	}
	s = start(t)
	r, _ := http.NewRequest(http.MethodPost, s.url+"/v1/explore/rows", strings.NewReader(`{"tables":["app"]}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://evil.example")
	if resp, err := http.DefaultClient.Do(r); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("%v %v", resp, err)
	}
}

// TestSignIn checks a server with users: the page asks for a user, continues with the same search, and
// shows why a sign-in failed.
func TestSignIn(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("ann:rw=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--user-file", users)
	s.user, s.password = "ann", "secret"
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app&q=failed")
	b.signIn("ann", "wrong")
	b.until(`document.querySelector('.signin .wrong')`)
	b.signIn("ann", "secret")
	b.until(`!document.querySelector('[data-ui=login]')`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('10 rows')`)
}

// TestSQL runs the statement at the cursor, and checks that a statement that changes something needs a
// confirmation.
func TestSQL(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(30)...)
	b := open(t, s.url+"/dashboard/sql?q=SELECT%20count(*)%20AS%20n,%209007199254740993%20AS%20big%20FROM%20app")
	b.until(`document.querySelector('[data-ui=editor]').value.startsWith('SELECT')`)
	b.click(`[data-ui=run]`)
	b.until(`document.querySelector('[data-ui=result] .cells').textContent.replace(/\s+/g, ' ').includes('30')`)
	b.until(`document.querySelector('[data-ui=result] .cells').textContent.includes('9007199254740993')`)
	b.click(`[data-ui=tab-plot]`)
	b.until(`document.querySelector('[data-ui=plot] svg')`)
	b.click(`[data-ui=tab-plan]`)
	b.until(`document.querySelector('[data-ui=plan]').textContent.includes('Total Time')`)
	b.click(`[data-ui=tab-table]`)
	eval[bool](b, `(() => { const e = document.querySelector('[data-ui=editor]'); e.value = 'DROP TABLE app';
		e.dispatchEvent(new InputEvent('input', {bubbles: true})); return true })()`)
	b.click(`[data-ui=run]`)
	b.until(`document.querySelector('dialog').textContent.includes('DROP TABLE app')`)
	b.click(`dialog .button:not(.main)`)
	b.until(`!document.querySelector('dialog')`)
	b.click(`[data-ui=nav-explore]`)
	b.until(loaded)
}

// TestCluster checks that the page shows the nodes, and the role of each for each shard.
func TestCluster(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/cluster")
	b.until(`document.querySelectorAll('[data-ui=node]').length === 1`)
	b.until(`document.querySelector('[data-ui=shard-cell]').textContent.startsWith('L')`)
}

// TestClusterOperations adds a shard and waits until it is done. An error of the server must be shown
// in the dialog, and removing a node must require its name.
func TestClusterOperations(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/cluster")
	b.click(`[data-ui=shards-acts]`)
	b.click(`[data-ui=do-shard-add]`)
	b.click(`[data-ui=confirm]`)
	b.until(`!document.querySelector('dialog')`)
	b.until(`document.querySelector('[data-ui=operation]').textContent.includes('Add shards')`)
	b.until(`document.querySelectorAll('[data-ui=shard-cell]').length === 2`)
	b.until(`document.querySelector('[data-ui=operation]').dataset.state === 'done'`)
	name := eval[string](b, `document.querySelector('[data-ui=node] td').textContent`)
	b.click(`[data-ui=nodes-acts]`)
	b.click(`[data-ui=do-decommission]`)
	eval[bool](b, `(() => { const e = document.querySelector('[data-ui=act-node]'); e.value = `+quote(name)+`;
		e.dispatchEvent(new Event('change', {bubbles: true})); return true })()`)
	b.until(`document.querySelector('[data-ui=confirm]').disabled`)
	b.fill(`[data-ui=confirm-word]`, name)
	b.click(`[data-ui=confirm]:not([disabled])`)
	b.until(`document.querySelector('dialog [data-ui=error]').textContent.includes('cannot be drained')`)
	b.click(`dialog [data-ui=close-dialog]`)
	b.until(`!document.querySelector('dialog')`)
	b.click(`[data-ui=shard-cell] button`)
	b.click(`[data-ui=cell-move]`)
	b.until(`document.querySelector('[data-ui=act-shard]').value === '1'`)
}
