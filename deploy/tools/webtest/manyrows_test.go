package webtest

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// timeAnswers is a script that measures how long it takes from window.began until the answers of the endpoints are on
// the screen: two frames after the last byte of the last request that was sent since then.
const timeAnswers = `window.drawn = (names, quiet = 400) => new Promise((done) => {
	const times = {};
	const since = (name) => performance.getEntriesByType('resource')
		.filter((r) => r.name.endsWith('/explore/' + name) && r.startTime >= began);
	requestAnimationFrame(function next(now) {
		for (const name of names) {
			const list = since(name);
			if (list.length > 0 && (times[name]?.count ?? 0) < list.length) times[name] = {count: list.length, frames: 0};
			else if (times[name] && ++times[name].frames === 2) times[name].at = Math.round(performance.now() - began);
		}
		const last = Math.max(...names.map((name) => times[name]?.at ?? Infinity));
		if (performance.now() - began > last + quiet && !document.querySelector('.progress.on')) {
			done(Object.fromEntries(names.map((name) => [name, times[name].at])));
		} else if (performance.now() - began > 60000) done({});
		else requestAnimationFrame(next);
	});
});`

// TestManyRows measures searches in a large table of a server that runs already. WEB_BENCH_URL is the address of
// Explore with this table. It needs a quiet machine.
func TestManyRows(t *testing.T) {
	address := os.Getenv("WEB_BENCH_URL")
	if address == "" {
		t.Skip("WEB_BENCH_URL is not set")
	}
	fields := `['status', 'host', 'method', 'path', 'bytes', 'took', 'country', 'agent']`
	for _, from := range []string{"-1d", "-21d"} {
		b := openWith(t, watch+timeAnswers+`localStorage.setItem('cordwood.open-fields', JSON.stringify(
			{['public.' + new URLSearchParams(location.search).get('t')]: `+fields+`})); window.began = 0;`,
			address+"&from="+from)
		b.report("open, "+from, `drawn(['rows', 'hits', 'facets'])`)
		for _, search := range []string{"", "status:>=500", "upstream", "host=web-7", "nothinglikeit"} {
			var all []map[string]float64
			for range 4 { // the first one is cold
				eval[bool](b, `(performance.clearResourceTimings(), window.began = performance.now(), true)`)
				b.search(search)
				all = append(all, b.drawn(`drawn(['rows', 'hits', 'facets'])`))
			}
			slices.SortFunc(all[1:], func(x, y map[string]float64) int { return int(x["hits"] - y["hits"]) })
			t.Logf("%s, %q: first %s; median of three %s; total %s", from, search, line(all[0]), line(all[2]),
				eval[string](b, `document.querySelector('[data-ui=total]')?.textContent ?? ''`))
		}
		b.search("")
		b.until(loaded)
		eval[bool](b, `(performance.clearResourceTimings(), window.began = performance.now(), true)`)
		b.press("x")
		b.report("patterns, "+from, `drawn(['patterns'])`)
	}
}

// drawn returns the times that a script measures, in milliseconds.
func (b *tab) drawn(script string) map[string]float64 {
	b.t.Helper()
	times, err := chromedp.Run(b.ctx, chromedp.Evaluate[map[string]float64](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return times
}

func (b *tab) report(what, script string) {
	b.t.Helper()
	began := time.Now()
	b.t.Logf("%s: %s (%s)", what, line(b.drawn(script)), time.Since(began).Round(time.Millisecond))
}

// line writes times in the order in which they are on the screen.
func line(times map[string]float64) string {
	text := ""
	for _, name := range []string{"rows", "hits", "facets", "patterns"} {
		if at, ok := times[name]; ok {
			text += fmt.Sprintf("%s %.0f ms ", name, at)
		}
	}
	return text
}
