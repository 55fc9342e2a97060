package webtest

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAxe has axe-core look at the pages in both themes. It skips where axe is not installed: see deploy/tools/web.
func TestAxe(t *testing.T) {
	axe, err := os.ReadFile("../web/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip(err)
	}
	s := start(t)
	s.ingest("app", logs(200)...)
	s.storePipeline("mine", pipelineText)
	s.storePipeline("mine", pipelineText+"# more\n")
	s.reject("other")
	for _, path := range []string{
		"explore?t=app", "explore?t=app&q=failed", "explore?t=app&q=lvel:x", "tail?t=app", "cluster", "sql",
		"sql?tab=plot&q=SELECT+host,count(*)+AS+n+FROM+app+GROUP+BY+host",
		"explore?t=app&view=patterns", "explore?t=app&view=compare&by=host", "explore?t=app&wrap=1&cols=host",
		"tables", "tables?t=app", "tables?t=gone", "add?t=app", "add?t=notyet&sender=vector", "settings",
		"pipelines", "pipelines?name=mine", "pipelines?name=mine&view=diff", "pipelines?view=new", "rejects",
	} {
		b := open(t, s.url+"/dashboard/"+path)
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			b.until(`document.querySelector('[data-ui=row], [data-ui=error], '+
				'[data-ui=tail-state], [data-ui=node], [data-ui=editor], [data-ui=table-row], [data-ui=snippet], .settings pre, '+
				'[data-ui=pattern], [data-ui=compare-field], [data-ui=pipeline], [data-ui=version], [data-ui=new-name], '+
				'[data-ui=reject]')`)
			if path == "explore?t=app&q=failed" && theme == "light" {
				b.click(`[data-ui=row]`)
				b.until(`document.querySelector('[data-ui=detail]')`)
			}
			if strings.HasPrefix(path, "sql?") && theme == "light" {
				b.click(`[data-ui=run]`)
				b.until(`document.querySelector('[data-ui=plot] svg')`)
			}
			eval[bool](b, string(axe)+"; true")
			found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`axe.run({resultTypes: ['violations']}).then((r) => `+
				`r.violations.map((v) => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map((n) => n.html).join(' | ')))`,
				chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				t.Errorf("%s, %s: %s", path, theme, f)
			}
			b.shoot(theme + "-" + strings.Map(letters, path))
		}
	}
}

// letters leaves what names of files may have in them.
func letters(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}
