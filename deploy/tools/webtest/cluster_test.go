package webtest

import (
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestNodeComesBack suspends a node of three. The page must offer what the advice names, and say how long the node has
// been silent. When the node goes on, the page must be as before.
func TestNodeComesBack(t *testing.T) {
	nodes := startCluster(t, 3, "--shards", "1", "--replication", "1")
	b := open(t, nodes[0].url+"/dashboard/cluster")
	healthy := `document.querySelector('main h1').textContent === 'The cluster is healthy' &&
		!document.querySelector('.problem.warning')`
	b.waitLong(healthy)
	b.until(`document.querySelector('[data-ui=tolerance]').textContent === 'If one node fails, shard 1 stops.'`)
	b.until(`/^refreshed (just now|\d s ago)$/.test(document.querySelector('[data-ui=refreshed]').textContent)`)
	if err := nodes[2].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nodes[2].cmd.Process.Signal(syscall.SIGCONT) }()
	b.waitLong(`document.querySelector('[data-ui=mend-decommission]').textContent === 'Decommission c…'`)
	b.until(`/^down for \d+ s$/.test(document.querySelectorAll('[data-ui=node]')[2].cells[1].textContent)`)
	b.shoot("cluster-node-down")
	b.click(`[data-ui=mend-decommission]`)
	b.until(`document.querySelector('[data-ui=act-node]').value === 'c'`)
	b.click(`dialog [data-ui=close-dialog]`)
	if err := nodes[2].cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.waitLong(healthy)
}

// nine is a cluster of nine nodes with long names and 40 shards, with a script that counts cancelled operations.
const nine = `{ const ask = fetch; const name = (i) => 'logs-eu-central-' + i % 9; window.cancelled = [];
	const state = {health: 'broken', failure_tolerance: -1, limited_by: 'shard 2', replication: 3, operations: [],
		problems: [
		{severity: 'critical', text: 'the disk of node logs-eu-central-3 is full', advice: 'move shards to other nodes',
			actions: [{kind: 'node-add'}, {kind: 'shard-move', node: name(3)}, {kind: 'of a newer server'}]},
		{severity: 'warning', text: 'operation 7 waits', advice: 'cancel it', actions: [{kind: 'cancel', operation: 7}]}],
		nodes: [...Array(9)].map((_, i) => ({id: i, name: name(i), state: 'up', silent_seconds: 1, meta: '', replicas: 1,
			roles: ['router', 'meta', 'shard'], leads: 1, bytes: 1, disk_used: 9, disk_capacity: 10, version: '0.9.' + i})),
		shards: [...Array(40)].map((_, i) => ({id: i + 1, leader: name(i), replicas: [name(i), name(i + 1)], learners: [],
			unready: [], lag: 0, bytes: 1, state: 'ok'}))};
	const table = 'public.' + 'a_long_name_'.repeat(8);
	const operations = [{id: 9, kind: 'table-move', subject: '', table, state: 'done', step: 'end', reason: '',
		total_bytes: 0, requested_by: 'ann', created: '2026-01-05T10:00:00Z', updated: '2026-01-05T10:00:10Z'}];
	window.fetch = (path, how) => path === '/v1/cluster' ? Promise.resolve(new Response(JSON.stringify(state))) :
		path === '/v1/cluster/operations' ? Promise.resolve(new Response(JSON.stringify({operations}))) :
		how?.method === 'DELETE' ? (cancelled.push(path), Promise.resolve(new Response('{}'))) : ask(path, how); }`

// TestManyNodes checks that a large cluster is shown whole: the last shard can be reached, the states are in sight, no
// name is wider than its place, and the menu of a cell is within the window.
func TestManyNodes(t *testing.T) {
	s := start(t)
	b := openWith(t, watch+nine, s.url+"/dashboard/cluster")
	b.until(`document.querySelectorAll('.matrix tbody tr').length === 40`)
	b.until(`document.querySelectorAll('.matrix th')[1].textContent === '…0'`)
	for _, size := range [][2]int64{{1440, 900}, {390, 844}} {
		b.do(chromedp.EmulateViewport(size[0], size[1]))
		b.until(`[...document.querySelectorAll('.ops h3')].every((e) => e.scrollWidth <= e.clientWidth)`)
		b.until(`document.querySelector('.matrix tbody tr').lastElementChild.getBoundingClientRect().right <= innerWidth`)
		// As a reader scrolls: what cuts its content off without scrollbars does not count.
		eval[bool](b, `(document.querySelector('main .scrolled').scrollTo(0, 1e6), true)`)
		b.until(`document.querySelector('.matrix tbody tr:last-child').getBoundingClientRect().bottom <= innerHeight`)
		b.click(`.matrix tbody tr:last-child button`)
		b.until(`((p) => p.left >= 0 && p.right <= innerWidth && p.top >= 0 && p.bottom <= innerHeight)(
			document.querySelector('.matrix .panel').getBoundingClientRect())`)
		b.until(`document.elementFromPoint(...((p) => [p.left + 20, p.bottom - 12])(
			document.querySelector('.matrix .panel').getBoundingClientRect())).closest('.panel')`)
		b.click(`.matrix tbody tr:last-child button`)
	}
	b.do(chromedp.EmulateViewport(1440, 900))
	b.until(`[...document.querySelectorAll('.offers button')].map((e) => e.textContent).join('|') ===
		'Add a node…|Move a replica…|Cancel operation 7'`)
	b.click(`[data-ui=mend-cancel]`)
	b.until(`cancelled.join() === '/v1/cluster/operations/7'`)
	b.click(`[data-ui=mend-shard-move]`)
	b.until(`document.querySelector('[data-ui=act-from]').value === 'logs-eu-central-3'`)
}
