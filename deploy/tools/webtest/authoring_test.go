package webtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPipelineHostileSamples tries a pipeline on markup, control characters and a line of 1 MiB, for which the server
// leaves values out of its answer. All must have an outcome, and the page must work on.
func TestPipelineHostileSamples(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", "version: 2\nprocessors:\n  - dissect: {field: message, pattern: '%{a} %{b}'}\n")
	b := open(t, s.url+"/dashboard/pipelines?name=mine")
	b.click(`[data-ui=paste]`)
	b.fill(`[data-ui=samples-text]`, "<img src=x onerror=faults.push(1)> two\nx "+strings.Repeat("y", 1<<20)+
		"\nctl \x00\x1b[31m\u202e\nlast line")
	b.click(`[data-ui=take-samples]`)
	b.until(`document.querySelectorAll('[data-ui=sample][data-outcome=stored]').length === 4`)
	b.click(`[data-ui=sample]:last-child button`)
	b.until(`document.querySelector('[data-ui=trace-cut]') &&
		document.querySelector('[data-ui=step][data-outcome=ok]').textContent.includes('…')`)
	b.until(`!document.querySelector('.samples img')`)
	// A long word was tried as a key from each of its characters, for minutes.
	b.fill(`[data-ui=editor]`, strings.Repeat("a", 300_000))
	b.until(`/expected a map/i.test(document.querySelector('[data-ui=fault]').textContent)`)
	b.fill(`[data-ui=editor]`, "")
	b.until(`!document.querySelector('[data-ui=fault]') && !document.querySelector('.pipe .wrong')`)
}

// TestPipelineManySamples checks that the steps of the twelfth sample are shown, and that all samples are counted
// beside the steps.
func TestPipelineManySamples(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", "version: 2\nprocessors:\n  - dissect: {field: message, pattern: '%{a} %{b}'}\n"+
		"  - dissect: {field: b, pattern: '%{c}-%{d}'}\n")
	b := open(t, s.url+"/dashboard/pipelines?name=mine")
	b.click(`[data-ui=paste]`)
	b.fill(`[data-ui=samples-text]`, strings.Repeat("one two-three\n", 11)+"one two\n")
	b.click(`[data-ui=take-samples]`)
	b.until(`document.querySelector('.gutter').textContent.includes('✓ 12') &&
		document.querySelector('.gutter').textContent.includes('✓ 11 ✗ 1')`)
	b.click(`[data-ui=sample]:last-child button`)
	b.until(`((steps) => steps.length === 3 && steps[1].dataset.outcome === 'ok' &&
		steps[2].dataset.outcome === 'failed')(document.querySelectorAll('[data-ui=step]'))`)
}

// TestPipelineAgainstTable compares a pipeline with a table that has other options and another type for a column.
func TestPipelineAgainstTable(t *testing.T) {
	s := start(t)
	s.run(`CREATE TABLE app (at TIMESTAMP(9) TIME INDEX, word BIGINT) WITH (ttl = '7d', on_type_conflict = 'aside')`)
	s.storePipeline("mine", strings.Replace(pipelineText, "transform:", "table_suffix: ''\ntransform:\n"+
		"  - {field: word, type: string}", 1))
	b := open(t, s.url+"/dashboard/pipelines?name=mine&t=app")
	b.click(`[data-ui=paste]`)
	b.fill(`[data-ui=samples-text]`, "2026-01-05T10:00:00Z good")
	b.click(`[data-ui=take-samples]`)
	b.until(`[...document.querySelectorAll('[data-ui=stored-warning]')].some((e) =>
		e.textContent.includes('1 value does not fit word') && e.textContent.includes('word_conflict'))`)
}

// TestPipelineDeleted deletes the older of two versions, and then the pipeline by typing its name.
func TestPipelineDeleted(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	s.storePipeline("mine", pipelineText+"# more\n")
	b := open(t, s.url+"/dashboard/pipelines?name=mine&view=versions")
	b.until(`document.querySelectorAll('[data-ui=version]').length === 2`)
	b.click(`[data-ui=version]:last-child [data-ui=delete-version]`)
	b.click(`[data-ui=confirm]:not([disabled])`)
	b.until(`document.querySelectorAll('[data-ui=version]').length === 1 && !document.querySelector('dialog')`)
	b.click(`[data-ui=delete-pipeline]`)
	b.until(`document.querySelector('[data-ui=confirm]').disabled`)
	b.fill(`[data-ui=confirm-word]`, "mine")
	b.click(`[data-ui=confirm]:not([disabled])`)
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('no pipelines yet')`)
}

// TestOpenReason opens a reason of rejected records: its newest record must be shown. Values in quotes, also those
// that are cut, do not make reasons different.
func TestOpenReason(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", strings.Replace(pipelineText, "  - date", "  - vrl: {source: '.message'}\n  - date", 1))
	for _, line := range []string{`one "two` + strings.Repeat("x", 100), `three "four" five` + strings.Repeat("y", 90)} {
		s.send("mine", "app", line)
	}
	b := open(t, s.url+"/dashboard/rejects")
	b.until(`document.querySelector('[data-ui=total]').textContent ===
		'2 records that could not be stored; they are kept for 7 days'`)
	b.until(`document.querySelectorAll('[data-ui=reason]').length === 1`)
	b.click(`[data-ui=reason-open]`)
	b.until(`document.querySelector('.opened [data-ui=reject]').textContent.includes('three')`)
	b.click(`.opened .go`)
	b.until(`location.search.includes('name=mine') && document.querySelector('[data-ui=sample][data-outcome=failed]')`)
}

// TestRefusedFile sends a file whose records are refused: all of them must be counted, not only those whose reasons
// the server lists.
func TestRefusedFile(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	lines := filepath.Join(t.TempDir(), "lines.txt")
	text := "2026-01-05T10:00:00Z good\n" + strings.Repeat("yesterday bad\n", 300)
	if err := os.WriteFile(lines, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, s.url+"/dashboard/add?t=sent&pipeline=mine")
	b.until(`document.querySelector('[data-ui=first-row]')`)
	chooseFile(b, `[data-ui=file]`, lines)
	b.until(`document.querySelector('[data-ui=drop]').textContent.includes('1 row stored, done') &&
		document.querySelector('[data-ui=drop] .wrong').textContent.includes('300 records were refused')`)
}

// TestMoreActsOnPhone checks that a phone offers what a wide screen shows beside the heads.
func TestMoreActsOnPhone(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/cluster")
	b.do(chromedp.EmulateViewport(320, 640))
	b.click(`[data-ui=shards-acts]`)
	b.until(`document.querySelector('[data-ui=do-rebalance]').offsetHeight > 0`)
	b.click(`[data-ui=nodes-acts]`)
	b.until(`document.querySelector('[data-ui=do-add-node]').offsetHeight > 0`)
	b.click(`[data-ui=do-add-node]`)
	b.until(`document.querySelector('dialog [data-ui=joined]')`)
}

// TestNodeDown checks that the replicas of a node that does not answer are marked.
func TestNodeDown(t *testing.T) {
	s := start(t)
	down := `{ const ask = fetch; window.fetch = async (path, how) => {
		const answer = await ask(path, how);
		if (path !== '/v1/cluster') return answer;
		const state = await answer.json();
		state.nodes[0].state = 'down';
		state.problems = [{severity: 'warning', text: 'node x has not answered for 26s', advice: 'start it again'}];
		return new Response(JSON.stringify({...state, health: 'degraded'})); } }`
	b := openWith(t, watch+down, s.url+"/dashboard/cluster")
	b.until(`document.querySelector('[data-ui=shard-cell]').title.includes('does not answer')`)
	b.until(`document.querySelector('.problem').textContent === 'Node x has not answered for 26s. Start it again.'`)
}

// TestSecretIsNotLost clicks twice on the button that makes a token: it must be made once, and its secret shown.
// The buttons of an error must not send the form around it.
func TestSecretIsNotLost(t *testing.T) {
	s, password := startWithAdmin(t)
	b := openAlone(t, s.url+"/dashboard/settings")
	b.signIn("root", password)
	b.click(`[data-ui=new-token]`)
	b.fill(`[data-ui=ask-name]`, "t")
	b.fill(`[data-ui=ask-on]`, "public.app")
	b.until(`document.querySelector('dialog pre').textContent.includes('INTO public.app')`)
	eval[bool](b, `((e) => (e.click(), e.click(), true))(document.querySelector('[data-ui=confirm]'))`)
	b.until(`document.querySelector('dialog').textContent.includes('cw_')`)
	b.do(chromedp.Reload())
	b.click(`[data-ui=new-token]`)
	b.fill(`[data-ui=ask-name]`, "t")
	b.fill(`[data-ui=ask-on]`, "public.app")
	b.click(`[data-ui=confirm]`)
	b.until(`document.querySelector('dialog [data-ui=error]')`)
	eval[bool](b, `(window.asked = 0, window.fetch = ((ask) => (...a) => (asked++, ask(...a)))(fetch), true)`)
	b.until(`[...document.querySelectorAll('dialog [data-ui=error] button')].every((e) => e.type === 'button')`)
	eval[bool](b, `([...document.querySelectorAll('dialog [data-ui=error] button')].forEach((e) => e.click()), true)`)
	b.until(`asked === 0 && document.querySelector('dialog [data-ui=error]')`)
}

// TestReaderSeesTables signs in as a user who may read tables, and neither segments nor the cluster nor pipelines.
func TestReaderSeesTables(t *testing.T) {
	s, password := startWithUsers(t)
	b := openAlone(t, s.url+"/dashboard/tables?t=app")
	b.signIn("ann", password)
	b.until(`document.querySelector('[data-ui=ddl]').textContent.includes('CREATE TABLE') &&
		document.querySelector('[data-ui=refused]').textContent.includes('MONITOR') &&
		document.querySelector('.tabledetail').textContent.includes('level')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/add?t=app"))
	b.until(`document.querySelector('[data-ui=may-not]')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines"))
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('that you may read')`)
	other := openAlone(t, s.url+"/dashboard/tables?t=app")
	other.signIn("wrt", password)
	other.until(`document.querySelector('[data-ui=table-row]')`)
	other.until(`!/rows|0 B/.test(document.querySelector('.tabledetail dl').textContent)`)
	other.until(`document.querySelector('[data-ui=nav-settings]').textContent.includes('may send rows')`)
}

// TestWhereSamplesFail checks that the text marks the line at which a sample fails, that the trace lists the steps that
// the sample did not reach, and that rejected records can be replayed from the page of their pipeline.
func TestWhereSamplesFail(t *testing.T) {
	s := start(t)
	s.storePipeline("nginx", accessLog)
	b := openAlone(t, s.url+"/dashboard/pipelines?name=nginx")
	b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect')`)
	if eval[bool](b, `!!document.querySelector('[data-ui=replay]')`) {
		t.Error("without rejects, the page offers to replay them")
	}
	b.click(`[data-ui=paste]`)
	b.fill(`[data-ui=samples-text]`, accessLines)
	b.click(`[data-ui=take-samples]`)
	b.click(`[data-ui=sample][data-outcome=failed] button`)
	b.until(`[...document.querySelectorAll('[data-outcome=not-reached]')].map((e) => e.textContent).join() ===
		'vrlline 7not reached,selectline 11not reached'`)
	b.until(`[...document.querySelectorAll('.coloured-lines .bad')].map((e) => e.textContent.trim()).join()
		.startsWith('- date')`)
	b.until(`/^line 6\s*1 of 4 samples fails here. Field at: /.test(
		document.querySelector('[data-ui=failing]').textContent)`)
	b.until(`/^1 fails: /.test(
		document.querySelector('.coloured-lines div:nth-child(6) [data-ui=line-note]').textContent)`)
	b.click(`[data-ui=failing] button`)
	b.until(`((e) => document.activeElement === e && e.value.slice(e.selectionStart).startsWith('  - date'))(
		document.querySelector('[data-ui=editor]'))`)

	// An error in a program is underlined in the text. The marks of the text before are gone.
	b.fill(`[data-ui=editor]`, strings.Replace(accessLog, "to_int!(", "to_int(", 1))
	b.until(`/This expression can fail/.test(document.querySelector('[data-ui=fault]').textContent) &&
		!document.querySelector('[data-ui=fault]').textContent.includes('─')`)
	b.until(`document.querySelectorAll('.coloured-lines .c-wrong').length > 1 &&
		[...document.querySelectorAll('.coloured-lines .c-wrong')].map((e) => e.textContent).join('') ===
		'.slow = to_int(.bytes) > 5000'.slice(8)`)
	b.until(`document.querySelector('[data-ui=line-note]').textContent.includes('allible')`)
	b.until(`!document.querySelector('[data-ui=failing]') && !document.querySelector('.gutter').textContent.includes('✓')`)
	b.until(`document.querySelector('.pipe .head').textContent.includes('of the text before')`)
	// The trace is of the text before, too.
	b.fill(`[data-ui=editor]`, strings.Replace(accessLog, "processors:", "processors:\n  - nothing: {}", 1))
	b.until(`/nothing/.test(document.querySelector('[data-ui=fault]').textContent)`)
	b.until(`[...document.querySelectorAll('[data-outcome=not-reached]')].map((e) => e.textContent).join() ===
		'vrlline 7not reached,selectline 11not reached'`)

	s.send("nginx", "access", accessLines)
	b.do(chromedp.Reload())
	b.until(`document.querySelector('[data-ui=replay]').textContent === 'Replay 1 reject…'`)
	b.click(`[data-ui=replay]`)
	b.until(`document.querySelector('dialog').textContent.includes('Your text is not saved')`)
	b.click(`[data-ui=replay-try]`)
	b.until(`document.querySelector('dialog [role=status]').textContent.includes('0 of 1 would be stored')`)
}

// TestPipelinesOnPhone checks that a phone shows how many records each pipeline rejected, and that the button that
// removes a sample does not cover its text.
func TestPipelinesOnPhone(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	s.reject("app")
	b := openAlone(t, s.url+"/dashboard/pipelines")
	b.do(chromedp.EmulateViewport(390, 844))
	b.until(`document.querySelector('[data-ui=pipeline] td:last-child').textContent === '1'`)
	b.until(`document.querySelector('[data-ui=pipeline] td:last-child').getBoundingClientRect().right <= innerWidth`)
	b.click(`[data-ui=pipeline] a`)
	b.click(`[data-ui=paste]`)
	b.fill(`[data-ui=samples-text]`, strings.Repeat("a long line of a log ", 10))
	b.click(`[data-ui=take-samples]`)
	b.until(`document.querySelector('[data-ui=sample] span').getBoundingClientRect().right <=
		document.querySelector('[data-ui=sample] .cut').getBoundingClientRect().left`)
}
