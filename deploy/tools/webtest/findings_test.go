package webtest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// requests is watch, and a script that records what the page asks for: the bodies of its requests, and those that the
// server refuses, except to users who have not signed in.
const requests = watch + `window.sent = []; window.refused = [];
{ const ask = window.fetch; window.fetch = async (path, how) => {
	const answer = await ask(path, how);
	if (answer.status >= 400 && answer.status !== 401) refused.push(path + ' ' + answer.status + ' ' + (how?.body ?? ''));
	sent.push(path + ' ' + decodeURIComponent(how?.body ?? '').replaceAll('+', ' '));
	return answer; }; }`

// startWithUsers starts a server with the administrator root, the table app, and the users ann, who may read it, and
// wrt, who may add rows to it.
func startWithUsers(t *testing.T) (s *server, password string) {
	t.Helper()
	s, password = startWithAdmin(t)
	s.ingest("app", logs(20)...)
	s.run(`CREATE USER ann PASSWORD '` + password + `'`)
	s.run(`GRANT SELECT ON public.* TO ann`)
	s.run(`CREATE USER wrt PASSWORD '` + password + `'`)
	s.run(`GRANT INSERT ON public.* TO wrt`)
	return s, password
}

// TestNothingRefused opens all pages as a user who may read tables, and as anybody on a server without users and
// without rejects: the page must not ask for what the server refuses.
func TestNothingRefused(t *testing.T) {
	const counted = `sent.some((s) => s.includes("table_name = 'rejects'"))`
	url := start(t).url + "/dashboard/pipelines"
	openWith(t, requests, url).record(url, `document.querySelector('[data-ui=empty]') && `+counted)

	s, password := startWithUsers(t)
	b := openTab(t, requests, s.url+"/dashboard/settings", chromedp.WithNewBrowserContext())
	b.signIn("ann", password)
	b.until(`document.querySelector('[data-ui=nav-settings]').textContent.includes('ann')`)
	for page, there := range map[string]string{
		"explore?t=app": `document.querySelector('[data-ui=total]')`,
		"tables?t=app":  `document.querySelector('[data-ui=ddl]')`,
		"rejects":       `document.querySelector('[data-ui=error]').textContent.includes('SELECT on svc_private.rejects')`,
		"cluster":       `document.querySelector('[data-ui=error]').textContent.includes('MONITOR on the cluster')`,
		"pipelines":     `document.querySelector('[data-ui=empty]')`,
		"settings":      `document.querySelector('.settings [data-ui=error]')`,
		"add?t=app":     `document.querySelector('[data-ui=may-not]') && !document.querySelector('[data-ui=drop]')`,
	} {
		b.record(s.url+"/dashboard/"+page, there+
			` && sent.some((s) => s.includes('/v1/access/check') && s.includes('svc_private.rejects'))`)
	}
}

// record opens an address, waits, and reports the requests that were refused.
func (b *tab) record(url, until string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	b.until(until)
	for _, request := range eval[[]string](b, `window.refused`) {
		b.t.Errorf("%s asks for %s", url, request)
	}
}

// TestNoPage opens addresses that no page has, and one with a parameter that its page does not know.
func TestNoPage(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(20)...)
	b := open(t, s.url+"/dashboard/nothing?t=app")
	for _, path := range []string{"nothing", "explore/app"} {
		b.do(chromedp.Navigate(s.url + "/dashboard/" + path))
		b.until(`document.querySelector('[data-ui=empty]').textContent.includes('no page at this address')`)
	}
	for path, part := range map[string]string{
		"tables?color=red": "color", "add?sender=pigeon": "sender=pigeon", "pipelines?view=odd": "view=odd",
		"rejects?from=soon": "from=soon",
	} {
		b.do(chromedp.Navigate(s.url + "/dashboard/" + path))
		b.until(`document.querySelector('[data-ui=toast]').textContent.endsWith(` + quote("ignores it: "+part) + `)`)
	}
}

// TestSessionEndsDuringEdit checks that a statement whose session ended runs after the reader signed in again, who then
// goes on typing where they were.
func TestSessionEndsDuringEdit(t *testing.T) {
	s, password := startWithUsers(t)
	b := openAlone(t, s.url+"/dashboard/sql?q=SELECT+41%2B1")
	b.until(`document.querySelector('[data-ui=editor]').value === 'SELECT 41+1'`)
	b.click(`[data-ui=run]`)
	b.signIn("ann", password)
	b.until(`document.querySelector('[data-ui=result]').textContent.includes('42')`)
	b.fill(`[data-ui=editor]`, "SELECT 43-1")
	eval[bool](b, `(document.querySelector('[data-ui=editor]').focus(),
		fetch('/v1/session', {method: 'DELETE', headers: {'x-svc-page': '1'}}).then(() => (window.out = true)), true)`)
	b.until(`window.out`)
	b.do(chromedp.KeyEvent("\r", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.until(`document.activeElement === document.querySelector('[data-ui=login-password]')`)
	b.signIn("ann", password)
	b.until(`document.activeElement === document.querySelector('[data-ui=editor]') &&
		document.querySelector('[data-ui=editor]').value === 'SELECT 43-1'`)
	b.until(`document.querySelector('[data-ui=result]').textContent.includes('1 row')`)
}

// TestSignInAgain ends a session: the dialog must have the name, until the user signs out.
func TestSignInAgain(t *testing.T) {
	s, password := startWithUsers(t)
	b := openAlone(t, s.url+"/dashboard/settings")
	b.signIn("ann", password)
	b.until(`document.querySelector('[data-ui=sign-out]')`)
	eval[bool](b, `(window.before = true, fetch('/v1/session', {method: 'DELETE', headers: {'x-svc-page': '1'}})
		.then(() => location.reload()), true)`)
	// The page before the reload may ask, too.
	b.until(`!window.before && document.querySelector('[data-ui=login-user]').value === 'ann' &&
		document.activeElement === document.querySelector('[data-ui=login-password]')`)
	b.signIn("ann", password)
	b.click(`[data-ui=sign-out]`)
	b.until(`document.querySelector('[data-ui=login-user]').value === '' &&
		document.activeElement === document.querySelector('[data-ui=login-user]')`)
}

// TestKeptRow keeps only rows with a value of the open row, which must stay open.
func TestKeptRow(t *testing.T) {
	b, id := openRow(t)
	b.click(`[data-ui=detail-field][data-name=host] [data-ui=value-in]`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('150 rows')`)
	b.until(`document.querySelector('[data-ui=detail]') &&
		document.querySelector('[data-ui=row][aria-selected=true]').dataset.id === ` + quote(id))
}

// TestCommaInNames chooses columns whose names have commas and quotes; the link must show the same columns.
func TestCommaInNames(t *testing.T) {
	s := start(t)
	rows := logs(20)
	for i := range rows {
		rows[i]["a,b"], rows[i][`say "x"`] = "comma", "quote"
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.click(`[data-ui=columns]`)
	for _, name := range []string{"a,b", `say "x"`, "host"} {
		b.until(`[...document.querySelectorAll('[data-ui=column-add]')].some((e) => e.textContent === ` + quote(name) + `)`)
		eval[bool](b, `([...document.querySelectorAll('[data-ui=column-add]')]
			.find((e) => e.textContent === `+quote(name)+`).click(), true)`)
	}
	heads := `[...document.querySelectorAll('.colhead .col')].map((e) => e.textContent.trim()).join('|')`
	b.until(heads + ` === 'a,b|say "x"|host'`)
	other := openAlone(t, eval[string](b, `location.href`))
	other.until(loaded + ` && ` + heads + ` === 'a,b|say "x"|host'`)
}

// TestBegunPipeline begins a pipeline twice under one name: the first text must not be lost without a question.
func TestBegunPipeline(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(20)...)
	b := openAlone(t, s.url+"/dashboard/pipelines?view=new")
	b.fill(`[data-ui=new-name]`, "mine")
	b.click(`[data-ui=begin]`)
	b.until(`document.querySelector("[data-ui=editor]").value.includes("dissect")`)
	b.fill(`[data-ui=editor]`, "version: 2\n# not saved\n")
	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?view=new"))
	b.until(`document.querySelector('[data-ui=new-name]')`)
	b.fill(`[data-ui=new-name]`, "mine")
	b.until(`document.querySelector('[data-ui=begin]').textContent === 'Replace it'`)
	b.click(`[data-ui=go-on]`)
	b.until(`document.querySelector('[data-ui=editor]').value.includes('# not saved')`)
}

// TestReplayFails tries a replay of a record that fails again: a replay is not what the dialog proposes then.
func TestReplayFails(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	s.reject("app")
	b := open(t, s.url+"/dashboard/rejects?pipeline=mine")
	b.click(`[data-ui=replay]`)
	b.until(`document.querySelector('dialog h2').textContent === 'Replay 1 reject'`)
	b.click(`[data-ui=replay-try]`)
	b.until(`document.querySelector('dialog [role=status]').textContent.includes('0 of 1 would be stored')`)
	b.until(`!document.querySelector('[data-ui=replay-now]').disabled`)
	if eval[bool](b, `document.querySelector('[data-ui=replay-now]').classList.contains('main')`) {
		t.Error("Replay is the main button after a trial in which nothing would be stored")
	}
}

// TestExportedRows sends the rows of an export to another table: they must be the same, so nulls must not be in them.
func TestExportedRows(t *testing.T) {
	s := start(t)
	rows := logs(20)
	rows[3]["only"] = "here"
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded + ` && document.querySelector('[data-ui=sql-line]').textContent.includes('SELECT')`)
	b.click(`[data-ui=export]`)
	b.until(`document.querySelector('.panel a[download="app.ndjson"]')`)
	resp, err := http.Get(eval[string](b, `document.querySelector('.panel a[download="app.ndjson"]').href`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 20 || strings.Contains(string(text), "null") {
		t.Fatalf("%d lines, %v:\n%s", lines, err, text)
	}
	s.ingestLines("copy", string(text))
	b.do(chromedp.Navigate(s.url + "/dashboard/explore?t=copy&q=only:here"))
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('1 row')`)
}

// ingestLines stores lines of JSON whose time is in the field ts.
func (s *server) ingestLines(table, lines string) {
	s.t.Helper()
	resp, err := http.Post(s.url+"/v1/ingest?pipeline_name=svc_identity&custom_time_index=ts;rfc3339&table="+table,
		"application/x-ndjson", strings.NewReader(lines))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %s", resp.StatusCode, text)
	}
}

// TestWaitingCoversNothing lets a second search wait: Cancel must lie over nothing else.
func TestWaitingCoversNothing(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(300)...)
	late := watch + `const ask = fetch; window.fetch = (path, how) => window.late && String(path).endsWith('/explore/rows')
		? new Promise((_, no) => how.signal.addEventListener('abort', () => no(new DOMException('', 'AbortError'))))
		: ask(path, how);`
	for _, width := range []int64{1440, 390, 320} {
		b := openWith(t, late, s.url+"/dashboard/explore?t=app")
		b.do(chromedp.EmulateViewport(width, 844))
		b.until(loaded + ` && document.querySelector('.legend b') && innerWidth === ` + quote(width))
		eval[bool](b, `(window.late = true)`)
		b.search("failed")
		b.until(`document.querySelector('.elapsed [data-ui=cancel]')`)
		for _, covered := range eval[[]string](b, `((box) =>
			[...document.querySelectorAll('main button, main select, main h2')].filter((e) => {
				const r = e.getBoundingClientRect(); return r.width > 0 && !e.closest('.elapsed') &&
				r.left < box.right && r.right > box.left && r.top < box.bottom && r.bottom > box.top })
			.map((e) => e.outerHTML.slice(0, 80)))(document.querySelector('.elapsed').getBoundingClientRect())`) {
			t.Errorf("at a width of %d, Cancel lies over %s", width, covered)
		}
		b.click(`.elapsed [data-ui=cancel]`)
		b.until(`!document.querySelector('.elapsed')`)
	}
}

// TestListHeadOnPhone checks that everything in the head of the list is in sight on the narrowest screen.
func TestListHeadOnPhone(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	for _, width := range []int64{320, 390} {
		b.do(chromedp.EmulateViewport(width, 640))
		b.until(loaded + ` && innerWidth === ` + quote(width))
		for _, name := range eval[[]string](b, `[...document.querySelectorAll('.list > .head button')].filter((e) => {
			const r = e.getBoundingClientRect(); return r.width > 0 && (r.left < 0 || r.right > innerWidth) })
			.map((e) => e.textContent)`) {
			t.Errorf("at a width of %d, %s is cut", width, name)
		}
	}
}
