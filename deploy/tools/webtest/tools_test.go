package webtest

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestTryOut tries a pattern on a line and a program on a record.
func TestTryOut(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/pipelines")
	b.click(`[data-ui=try]`)
	b.until(`document.querySelectorAll('[data-ui=captured] mark').length === 7`)
	b.shoot("try")
	b.fill(`[data-ui=try-pattern]`, "%{client} nowhere %{user}")
	b.until(`document.querySelector('.tryout [data-outcome=failed]').textContent.includes('dissect')`)
	for _, kind := range []string{"grok", "regex", "date"} {
		b.click(`[data-ui=try-` + kind + `]`)
		b.until(`document.querySelectorAll('[data-ui=captured]').length === 1 &&
			!document.querySelector('.tryout [data-outcome=failed]')`)
	}
	b.until(`document.querySelector('[data-ui=program-result]').textContent.includes('12.5')`)
	b.typeInEditor("\n.")
	b.until(`[...document.querySelectorAll('[data-ui=completions] li span')].some((e) => e.textContent === 'message')`)
	b.fill(`[data-ui=editor]`, ".a = nothing(1)\n.")
	b.until(`document.querySelector('.tryout [data-ui=fault]').textContent.includes('nothing')`)
}

// TestDispatch checks that the steps of a record in another pipeline are shown with the name of that
// pipeline, and not at lines of this one.
func TestDispatch(t *testing.T) {
	s := start(t)
	s.storePipeline("sub", "version: 2\nprocessors:\n  - dissect: {field: rest, pattern: '%{ip} %{user}'}\n")
	s.storePipeline("main", "version: 2\nprocessors:\n  - dissect: {field: message, pattern: '%{kind} %{rest}'}\n"+
		"dispatcher:\n  field: kind\n  rules:\n    - {value: x, table_suffix: _x, pipeline: sub}\n")
	b := open(t, s.url+"/dashboard/pipelines?name=main")
	b.click(`[data-ui=paste]`)
	b.fill(`[data-ui=samples-text]`, "x 10.1.2.3 ann")
	b.click(`[data-ui=take-samples]`)
	b.until(`((steps) => steps.length === 4 && steps[2].textContent.includes('goes on in the pipeline sub') &&
		steps[3].textContent.includes('in sub, line 3') && !steps[3].querySelector('button') &&
		steps[3].querySelector('[data-ui=other-pipeline]'))(document.querySelectorAll('[data-ui=step]'))`)
	b.shoot("dispatch")
}

// TestPorts checks that the page says how to start the server so that it listens for syslog, and
// whether it listens.
func TestPorts(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/add?sender=syslog&t=net")
	b.until(`document.querySelector('[data-ui=server-port]').textContent.includes('--syslog-addr') &&
		document.querySelector('[data-ui=server-port]').textContent.includes('table=net') &&
		document.querySelector('[data-ui=server-port]').textContent.includes('Start the server with this flag')`)
	port := "tcp://" + freeAddress(t)
	s = start(t, "--syslog-addr", port)
	b = open(t, s.url+"/dashboard/add?sender=syslog&t=net")
	b.until(`document.querySelector('[data-ui=server-port]').textContent.includes(` + quote("listens at "+port) + `)`)
}

// TestGone stops the server and starts it in another version: the page must keep its content and
// report both.
func TestGone(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(20)...)
	away := `{ const ask = fetch; window.fetch = async (path, how) => {
		if (window.away) throw new TypeError('no answer');
		const answer = await ask(path, how);
		if (!window.newer || !path.endsWith('/v1/session')) return answer;
		const session = await answer.json();
		return new Response(JSON.stringify({...session, server: {...session.server, version: 'another'}})); } }`
	b := openWith(t, watch+away, s.url+"/dashboard/explore?t=app")
	b.until(loaded + ` && document.querySelector('[data-ui=health]')`)
	eval[bool](b, `(window.away = true)`)
	b.until(`document.querySelector('.banner').textContent.includes('No answer from the server for')`)
	b.until(`document.querySelectorAll('[data-ui=row]').length === 20`)
	b.shoot("gone")
	b.until(`document.querySelector('[data-ui=health]').textContent === 'no answer'`)
	eval[bool](b, `(document.querySelector('[data-ui=nav-cluster]').click(), true)`)
	b.until(`document.querySelector('main h1').textContent === 'The state of the cluster is not known' &&
		document.querySelector('[data-ui=known-since]') && document.querySelector('[data-ui=node]')`)
	eval[bool](b, `(history.back(), true)`)
	b.until(loaded)
	eval[bool](b, `(window.newer = true, window.away = false, true)`)
	b.click(`.banner [data-ui=retry]`)
	b.until(`document.querySelector('.banner').textContent.includes('version has changed')`)
}

// TestRangeShifts moves to the previous range and widens it. A tail must open in Explore from its
// first row.
func TestRangeShifts(t *testing.T) {
	s := start(t)
	rows := logs(10)
	for i := range rows {
		rows[i]["ts"] = time.Now().Add(-90 * time.Minute).UnixMilli()
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(`document.querySelector('[data-ui=empty]')`)
	shift := func(label string) {
		t.Helper()
		b.click(`[data-ui=range]`)
		b.until(`[...document.querySelectorAll('.shifts .button')].some((e) => !e.disabled &&
			e.textContent.includes(` + quote(label) + `))`)
		eval[bool](b, `([...document.querySelectorAll('.shifts .button')].find((e) =>
			e.textContent.includes(`+quote(label)+`)).click(), true)`)
	}
	shift("Earlier")
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('10 rows')`)
	shift("Later")
	b.until(`document.querySelector('[data-ui=empty]')`)
	// The second click comes before the answer to the first one.
	eval[bool](b, `(window.fetch = (_, how) => new Promise((_, no) =>
		how?.signal?.addEventListener('abort', () => no(new DOMException('', 'AbortError')))), true)`)
	shift("Wider")
	shift("Wider")
	b.until(`((search) => new Date(search.get('to')) - new Date(search.get('from')) === 4 * 3600 * 1000)(
		new URLSearchParams(location.search))`)
	b.do(chromedp.Reload())
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('10 rows')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/tail?t=app"))
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
	s.ingest("app", logs(3)...)
	b.until(`document.querySelectorAll('[data-ui=row]').length === 3`)
	first := eval[string](b, `document.querySelector('[data-ui=row] time').dateTime`)
	b.click(`[data-ui=explore-this]`)
	b.until(`new URLSearchParams(location.search).get('from') === ` + quote(first))
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('3 rows')`)
}

// TestMotion checks that nothing moves for users who prefer reduced motion, and that the focus is
// always visible.
func TestMotion(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(20)...)
	b := openWith(t, watch+answering("/explore/rows", "1", "0"), s.url+"/dashboard/explore?t=app")
	b.theme("light") // theme also sets reduced motion
	b.until(`document.querySelector('.progress.on > [role]')`)
	moving := eval[[]string](b, `document.getAnimations().map((a) => a.animationName ?? a.transitionProperty)`)
	if len(moving) > 0 {
		t.Errorf("these move: %s", strings.Join(moving, ", "))
	}
	// Every control that Tab reaches must be visible and have an outline.
	for range 12 {
		b.keys("\t")
		b.until(`((e) => e !== document.body && e.getBoundingClientRect().width > 0 &&
			(getComputedStyle(e).outlineStyle !== 'none' || e.closest('.search')))(document.activeElement)`)
	}
}
