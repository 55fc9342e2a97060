package webtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// startCluster starts nodes a, b and so on that found a cluster together, and end with the test.
func startCluster(t *testing.T, n int, args ...string) []*process {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("0123456789abcdef", 3)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rpcs := make([]string, n)
	for i := range rpcs {
		rpcs[i] = freeAddress(t)
	}
	nodes := make([]*process, n)
	for i, rpc := range rpcs {
		nodes[i] = launch(t, append([]string{
			"--node-name", string(rune('a' + i)), "--rpc-addr", rpc, "--cluster-secret-file", secret,
			"--seeds", strings.Join(rpcs, ","), "--meta-bootstrap-expect", fmt.Sprint(n),
		}, args...)...)
	}
	for _, p := range nodes {
		p.awaitReady(time.Minute)
	}
	return nodes
}

// change chooses a value of a list.
func (b *tab) change(selector, value string) {
	b.t.Helper()
	b.until(`[...document.querySelector(` + quote(selector) + `).options].some((o) => o.value === ` + quote(value) + `)`)
	eval[bool](b, `(() => { const e = document.querySelector(`+quote(selector)+`); e.value = `+quote(value)+`;
		e.dispatchEvent(new Event('change', {bubbles: true})); return true })()`)
}

// TestClusterOfThree moves a replica to another node, decommissions a node, stops it and lets the cluster forget it.
// The page of another node must show each step, and the rows must stay.
func TestClusterOfThree(t *testing.T) {
	nodes := startCluster(t, 3, "--shards", "1", "--replication", "1")
	s := nodes[0]
	s.ingest("app", logs(200)...)
	b := open(t, s.url+"/dashboard/cluster")
	b.until(`document.querySelectorAll('[data-ui=node]').length === 3 &&
		document.querySelector('main h1').textContent === 'The cluster is healthy'`)
	// cell is the letter of shard 1 on the node of a column.
	const cells = `[...document.querySelectorAll('[data-ui=shard-cell]')].map((e) => e.textContent[0])`
	b.until(cells + `.length === 3 && ` + cells + `.filter((c) => c === 'L').length === 1`)
	from := eval[int](b, cells+`.indexOf('L')`)
	to := (from + 1) % 3
	names := eval[[]string](b, `[...document.querySelectorAll('.matrix thead th')].slice(1, 4).map((e) => e.textContent)`)
	b.click(fmt.Sprintf(`td[data-ui=shard-cell]:nth-child(%d) button`, from+2))
	b.click(`[data-ui=cell-move]`)
	b.until(`document.querySelector('[data-ui=act-from]').value === ` + quote(names[from]))
	b.change(`[data-ui=act-to]`, names[to])
	b.click(`[data-ui=confirm]:not([disabled])`)
	b.until(`!document.querySelector('dialog')`)
	b.until(`document.querySelector('[data-ui=operation]').textContent.includes(` +
		quote(fmt.Sprintf("Move shard 1 from %s to %s", names[from], names[to])) + `)`)
	b.waitLong(`document.querySelector('[data-ui=operation]').dataset.state === 'done'`)
	b.until(cells + fmt.Sprintf(`[%d] === '·' && `, from) + cells + fmt.Sprintf(`[%d] !== '·'`, to))
	b.shoot("cluster-moved")

	// A node leaves, but not the one that serves the page. If it has the replica, this moves again.
	gone := to
	if names[gone] == "a" {
		gone = from
	}
	b.click(`[data-ui=nodes-acts]`)
	b.click(`[data-ui=do-decommission]`)
	b.change(`[data-ui=act-node]`, names[gone])
	b.fill(`[data-ui=confirm-word]`, names[gone])
	b.click(`[data-ui=confirm]:not([disabled])`)
	b.until(`document.querySelector('dialog [data-ui=error]').textContent.includes('none may fail instead of 1')`)
	b.click(`[data-ui=act-force]`)
	b.click(`[data-ui=confirm]:not([disabled])`)
	b.until(`!document.querySelector('dialog')`)
	node := `[...document.querySelectorAll('[data-ui=node]')]
		.find((e) => e.cells[0].textContent === ` + quote(names[gone]) + `)`
	b.waitLong(node + `.cells[1].textContent.includes('drained') && ` + node + `.cells[3].textContent === '' &&
		` + node + `.cells[6].textContent === '0'`)
	b.until(cells + fmt.Sprintf(`[%d] === '·'`, gone))
	b.shoot("cluster-decommissioned")
	leaver := nodes[int(names[gone][0]-'a')]
	if err := leaver.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	b.waitLong(`!` + node + ` || / for \d/.test(` + node + `.cells[1].textContent)`)
	if eval[bool](b, `!!`+node) {
		b.click(`[data-ui=nodes-acts]`)
		b.click(`[data-ui=do-remove]`)
		b.change(`[data-ui=act-node]`, names[gone])
		b.fill(`[data-ui=confirm-word]`, names[gone])
		b.click(`[data-ui=confirm]:not([disabled])`)
	}
	b.waitLong(`document.querySelectorAll('[data-ui=node]').length === 2`)
	b.do(chromedp.Navigate(s.url + "/dashboard/explore?t=app"))
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('200 rows')`)
}

// waitLong is until for what a cluster does, which can take a minute.
func (b *tab) waitLong(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for ticker := time.NewTicker(100 * time.Millisecond); time.Now().Before(deadline); <-ticker.C {
		if eval[bool](b, "(() => { try { return !!("+expression+") } catch { return false } })()") {
			return
		}
	}
	b.until(expression)
}

const (
	apacheLines = `[Sun Jan 04 04:47:44 2026] [notice] worker init ok /etc/httpd/conf/workers.properties
[Sun Jan 04 04:47:44 2026] [error] mod_proxy child worker in error state 6
[Sun Jan 04 04:51:08 2026] [notice] proxy child init 1 found child 6725 in scoreboard slot 10
[Sun Jan 04 05:15:09 2026] [error] [client 222.166.160.184] Directory index forbidden by rule: /var/www/html/`
	apachePipeline = `version: 2
processors:
  - dissect:
      field: message
      pattern: '[%{at}] [%{level}] %{text}'
  - date: {field: at, formats: ['%a %b %d %H:%M:%S %Y'], timezone: UTC}
  - select: {type: exclude, field: message}
transform:
  - {field: at, type: timestamp, index: timestamp}
  - {fields: [level, text], type: string}
`
)

// TestPipelineLife begins a pipeline, tries it on lines of a web server, saves it twice, restores the first version,
// sends lines through it, and deletes it.
func TestPipelineLife(t *testing.T) {
	s := start(t)
	b := openAlone(t, s.url+"/dashboard/pipelines")
	b.click(`[data-ui=new-pipeline]`)
	b.fill(`[data-ui=new-name]`, "apache")
	b.click(`[data-ui=begin]`)
	b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect')`)
	b.click(`[data-ui=paste]`)
	b.fill(`[data-ui=samples-text]`, apacheLines)
	b.click(`[data-ui=take-samples]`)
	b.until(`document.querySelectorAll('[data-ui=sample][data-outcome=failed]').length === 4`)
	b.fill(`[data-ui=editor]`, apachePipeline)
	b.until(`document.querySelectorAll('[data-ui=sample][data-outcome=stored]').length === 4`)
	b.until(`[...document.querySelectorAll('[data-ui=stored-column]')].map((e) => e.textContent).join().includes('text')`)
	save := func(note string, versions int) {
		t.Helper()
		b.click(`[data-ui=save]`)
		b.fill(`[data-ui=note]`, note)
		b.click(`[data-ui=save-now]:not([disabled])`)
		b.until(`!document.querySelector('dialog') && document.querySelector('[data-ui=save]').disabled`)
		b.do(chromedp.Navigate(s.url + "/dashboard/pipelines"))
		b.until(`document.querySelector('[data-ui=pipeline]').cells[4].textContent === ` + quote(fmt.Sprint(versions)) + ` &&
			document.querySelector('[data-ui=pipeline]').textContent.includes(` + quote(note) + `)`)
		b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?name=apache"))
		b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect')`)
	}
	save("first", 1)
	b.fill(`[data-ui=editor]`, strings.Replace(apachePipeline, "text], type", "text, host], type", 1))
	save("with host", 2)
	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?name=apache&view=versions"))
	b.until(`document.querySelectorAll('[data-ui=version]').length === 2`)
	eval[bool](b, `(document.querySelectorAll('[data-ui=version]')[1].querySelector('button').click(), true)`)
	b.click(`[data-ui=restore]`)
	b.until(`document.querySelector('[data-ui=editor]').value === ` + quote(apachePipeline))
	save("back", 3)

	s.send("apache", "web", apacheLines)
	b.do(chromedp.Navigate(s.url + "/dashboard/explore?t=web&from=2026-01-04T00:00:00Z&to=2026-01-05T00:00:00Z"))
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('4 rows')`)
	b.search("level:error -forbidden")
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('1 row')`)
	b.until(`document.querySelector('[data-ui=row-line]').textContent.includes('in error state 6')`)

	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?name=apache&view=versions"))
	b.click(`[data-ui=delete-pipeline]`)
	b.fill(`[data-ui=confirm-word]`, "apache")
	b.click(`[data-ui=confirm]:not([disabled])`)
	b.until(`!document.querySelector('dialog')`) // leaving the page would cancel the request
	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines"))
	b.until(`document.querySelector('[data-ui=empty]')`)
}

// TestTableChanges adds a column and an index to a table, renames it and removes its rows.
func TestTableChanges(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	b := open(t, s.url+"/dashboard/tables?t=app")
	act := func(id, word string, fields map[string]string) {
		t.Helper()
		b.click(`[data-ui=table-actions]`)
		b.click(`[data-ui=do-` + id + `]`)
		for name, value := range fields {
			if eval[bool](b, `document.querySelector('[data-ui=ask-`+name+`]').tagName === 'SELECT'`) {
				b.change(`[data-ui=ask-`+name+`]`, value)
			} else {
				b.fill(`[data-ui=ask-`+name+`]`, value)
			}
		}
		if word != "" {
			b.until(`document.querySelector('[data-ui=confirm]').disabled`)
			b.fill(`[data-ui=confirm-word]`, word)
		}
		b.click(`[data-ui=confirm]:not([disabled])`)
		b.until(`!document.querySelector('dialog')`)
	}
	b.until(`document.querySelector('[data-ui=ddl]')`)
	act("column", "", map[string]string{"column": "took, ms", "type": "DOUBLE"})
	b.until(`document.querySelector('[data-ui=ddl]').textContent.includes('"took, ms" DOUBLE')`)
	act("index", "", map[string]string{"column": "host", "index": "SKIPPING"})
	b.until(`/"?host"? STRING[^,]*SKIPPING INDEX/.test(document.querySelector('[data-ui=ddl]').textContent)`)
	act("rename", "", map[string]string{"to": "app2"})
	b.until(`location.search === '?t=app2' && document.querySelector('[data-ui=ddl]').textContent.includes('app2')`)
	act("truncate", "app2", nil)
	b.until(`/rows\s*0/.test(document.querySelector('.tabledetail dl').innerText)`)
}

// TestBrushByMouse drags over the histogram and zooms; Back shows the range of before.
func TestBrushByMouse(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(500)...)
	b := open(t, s.url+"/dashboard/explore?t=app&from=-2m")
	b.until(loaded + ` && document.querySelectorAll('[data-ui=bar]').length > 10`)
	box := eval[map[string]float64](b, `document.querySelector('[data-ui=histogram]').getBoundingClientRect().toJSON()`)
	y := box["y"] + box["height"]/2
	at := func(share float64) float64 { return box["x"] + box["width"]*share }
	left := chromedp.Button("left")
	b.do(chromedp.MouseEvent(chromedp.MousePressed, at(0.7), y, left, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseMoved, at(0.8), y, left),
		chromedp.MouseEvent(chromedp.MouseMoved, at(0.9), y, left),
		chromedp.MouseEvent(chromedp.MouseReleased, at(0.9), y, left, chromedp.ClickCount(1)))
	b.until(`document.querySelectorAll('[data-ui=bar].out').length > 10`)
	b.click(`[data-ui=brush-zoom]`)
	b.until(`/from=20.*to=20/.test(location.search)`)
	b.until(`((n) => n > 20 && n < 300)(parseInt(document.querySelector('[data-ui=total]').textContent))`)
	eval[bool](b, `(history.back(), true)`)
	b.until(`location.search.includes('from=-2m') &&
		document.querySelector('[data-ui=total]').textContent.includes('500 rows')`)
}

// TestByKeyboard uses the keyboard alone: it searches, opens a row, its context, the views and a menu, excludes a
// value, goes to a table, and runs a statement.
func TestByKeyboard(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(300)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.key("/", 191)
	b.until(`document.activeElement.dataset.ui === 'search'`)
	b.keys("failed\r")
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('30 rows')`)
	// Tab leads out of the search: single keys act then.
	b.key("Tab", 9)
	b.keys("jj")
	b.until(`document.querySelectorAll('[data-ui=row]')[1].getAttribute('aria-selected') === 'true'`)
	b.keys("c")
	b.until(`document.querySelector('section[data-ui=context] [data-ui=context-row]')`)
	b.keys("c")
	b.until(`!document.querySelector('section[data-ui=context]')`)
	b.key("Escape", 27)
	b.until(`!document.querySelector('[data-ui=detail]')`)
	b.keys("x")
	b.until(`document.querySelector('[data-ui=pattern]')`)
	b.keys("xh")
	b.until(loaded + ` && !document.querySelector('[data-ui=histogram]')`)
	b.keys("h")
	b.until(`document.querySelector('[data-ui=histogram]')`)
	b.key("f", 70)
	b.until(`document.activeElement.dataset.ui === 'field-find'`)
	b.keys("host")
	b.until(`document.querySelector('.fieldlist p').textContent === '1 found'`)
	b.tabTo(`document.activeElement.closest('[data-ui=field]')`)
	if !eval[bool](b, `document.activeElement.getAttribute('aria-expanded') === 'true'`) {
		b.keys("\r")
	}
	b.until(`document.querySelector('[data-value=web-1]')`)
	b.tabTo(`document.activeElement.closest('[data-value=web-1]') && document.activeElement.dataset.ui === 'value-in'`)
	b.keys("-")
	b.until(`document.querySelector('[data-ui=search]').value === 'failed -host=web-1'`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('20 rows')`)
	b.tabTo(`document.activeElement.dataset.ui === 'export'`)
	b.keys("\r")
	b.until(`document.querySelector('.panel a[download="app.csv"]')`)
	b.key("Escape", 27)
	b.until(`!document.querySelector('.panel') && document.activeElement.dataset.ui === 'export'`)
	b.keys("gb")
	b.until(`document.querySelector('[data-ui=table-row]')`)
	b.keyUntil("/", 191, `document.activeElement.id === 'table-find'`)
	b.tabTo(`document.activeElement.closest('[data-ui=table-row] a')`)
	b.keys("\r")
	b.until(`document.querySelector('[data-ui=ddl]')`)
	b.keys("gs")
	b.until(`document.querySelector('[data-ui=editor]')`)
	b.tabTo(`document.activeElement.dataset.ui === 'editor'`)
	b.until(`document.querySelector('[data-ui=editor]').value === 'SHOW TABLES'`)
	b.do(chromedp.KeyEvent("\r", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.until(`document.querySelector('[data-ui=result]').textContent.includes('app')`)
}

// keyUntil presses a key until an expression is true. A page takes keys only from a frame after the one that shows it.
func (b *tab) keyUntil(key string, code int64, expression string) {
	b.t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for ticker := time.NewTicker(50 * time.Millisecond); time.Now().Before(deadline); <-ticker.C {
		b.key(key, code)
		if eval[bool](b, `!!(`+expression+`)`) {
			return
		}
	}
	b.t.Fatalf("%s does not lead to %s", key, expression)
}

// tabTo presses Tab until an element has the focus.
func (b *tab) tabTo(expression string) {
	b.t.Helper()
	for range 120 {
		if eval[bool](b, `!!(`+expression+`)`) {
			return
		}
		b.key("Tab", 9)
	}
	b.t.Fatalf("Tab does not lead to %s", expression)
}
