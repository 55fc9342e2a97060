package webtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// actionsOf lists the names of all controls that are in sight or scroll into it: also those of menus, which it opens,
// those of the fields, which a small screen has behind a button, and the choices of selects. The buttons of
// menus, and figures, are left out.
const actionsOf = `(async () => {
	const names = new Set();
	const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
	const seen = (e) => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 0;
	const add = () => {
		const controls = ':is(header, main, .tabbar) :is(button, a[href], select, input, textarea)';
		for (const e of document.querySelectorAll(controls)) {
			if (!seen(e) || e.matches('[aria-haspopup]') || e.closest('[data-ui=rows], .hidden')) continue;
			const texts = e.matches('select') ? [e.ariaLabel, ...[...e.options].map((o) => o.text)] :
				[e.ariaLabel ?? (e.textContent || e.placeholder)];
			for (const text of texts) names.add((text ?? '').replace(/[\d,.:↑↓]+/g, '').replace(/\s+/g, ' ').trim());
		}
	};
	await drawn();
	await drawn(); // the page hears of another width after it is drawn
	add();
	for (const opener of document.querySelectorAll('[data-ui=show-fields], [data-ui=sql-tables]')) {
		if (!seen(opener)) continue;
		opener.click();
		await drawn();
		add();
		[...document.querySelectorAll('main [aria-label^=Close]')].find(seen)?.click();
		await drawn();
	}
	for (const opener of document.querySelectorAll(':is(header, main, .tabbar) [aria-haspopup=dialog]')) {
		if (!seen(opener)) continue;
		opener.click();
		await drawn();
		add();
		opener.click();
		await drawn();
	}
	return [...names].filter(Boolean).sort();
})()`

// TestSmallScreens checks that a desktop at a zoom of 200 % and a phone offer each action that the desktop offers, and
// that the histogram has its height.
func TestSmallScreens(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(50)...)
	s.storePipeline("mine", pipelineText)
	s.reject("app")
	for path, ready := range map[string]string{
		"explore?t=app":                     loaded,
		"explore?t=app&view=patterns":       `document.querySelector('[data-ui=pattern]')`,
		"tail?t=app":                        `document.querySelector('[data-ui=tail-state]')`,
		"sql?q=SELECT+1":                    `document.querySelector('[data-ui=run]')`,
		"pipelines":                         `document.querySelector('[data-ui=pipeline]')`,
		"pipelines?name=mine":               `document.querySelector('[data-ui=replay]')`,
		"rejects":                           `document.querySelector('[data-ui=reject]')`,
		"tables":                            `document.querySelector('[data-ui=table-row]')`,
		"tables?t=app":                      `document.querySelector('[data-ui=ddl]')`,
		"cluster":                           `document.querySelector('[data-ui=node]')`,
		"add?sender=syslog&t=net&db=public": `document.querySelector('[data-ui=server-port]')`,
		"settings":                          `document.querySelector('.settings')`,
	} {
		t.Run(path, func(t *testing.T) {
			b := open(t, s.url+"/dashboard/"+path)
			b.until(ready + ` && document.querySelector('[data-ui=health]')`)
			all := b.actions()
			if len(all) < 15 {
				t.Fatalf("only %q is in sight on a desktop", all)
			}
			for _, size := range []struct{ width, height int64 }{{720, 450}, {390, 844}, {320, 640}} {
				b.do(chromedp.EmulateViewport(size.width, size.height))
				b.until(`innerWidth === ` + quote(size.width) + ` && (` + ready + `)`)
				found := b.actions()
				lost := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(found, name) })
				if len(lost) > 0 {
					t.Errorf("at %d×%d, these cannot be reached: %s", size.width, size.height, strings.Join(lost, "; "))
				}
				if strings.HasPrefix(path, "explore") {
					b.until(`document.querySelector('[data-ui=histogram]').clientHeight > 50`)
				}
			}
		})
	}
}

// actions returns the names of all controls of the page.
func (b *tab) actions() []string {
	b.t.Helper()
	names, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](actionsOf, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}
