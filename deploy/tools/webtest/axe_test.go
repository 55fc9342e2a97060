package webtest

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAxe checks every state. It is skipped if axe is not installed: see deploy/tools/web.
func TestAxe(t *testing.T) {
	if _, err := os.Stat(axeScript); err != nil {
		t.Skip(err)
	}
	s := startWithStates(t)
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			state.enter(t, s.url).axe(state.name)
		})
	}
}

const axeScript = "../web/node_modules/axe-core/axe.min.js"

// axe checks what is on the screen with axe-core: all rules in the light theme, at the widths of a desktop and of a
// phone, and the rules for colours in the dark theme. It may not be wider than the screen, down to 320 pixels. Without
// axe it checks nothing. It leaves the tab at the size of a desktop, in the light theme.
func (b *tab) axe(name string) {
	b.t.Helper()
	axe, err := os.ReadFile(axeScript)
	if err != nil {
		return
	}
	eval[bool](b, string(axe)+"; true")
	for _, look := range []struct {
		name, theme, rules string
		width              int64
	}{
		{"light", "light", "", 1440}, {"dark", "dark", ", runOnly: ['color-contrast']", 1440}, {"phone", "light", "", 390},
	} {
		b.theme(look.theme)
		b.do(chromedp.EmulateViewport(look.width, 844))
		// A button that was just enabled has its final colours after a transition.
		b.until(`document.getAnimations().every((a) => a.effect.getTiming().iterations === Infinity)`)
		found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`axe.run({resultTypes: ['violations']`+look.rules+
			`}).then((r) => r.violations.map((v) => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map((n) => n.html +
			' ' + n.failureSummary).join(' | ')))`, chromedp.EvalAwaitPromise))
		if err != nil {
			b.t.Fatal(err)
		}
		for _, f := range found {
			b.t.Errorf("%s, %s: %s", name, look.name, f)
		}
		b.shoot(name + "-" + look.name)
	}
	for _, width := range []int64{720, 320} { // a desktop at a zoom of 200 and 400 %
		b.do(chromedp.EmulateViewport(width, 640))
		if wide := eval[int64](b, `document.documentElement.scrollWidth`); wide > width {
			b.t.Errorf("%s: at %d pixels the page is %d wide", name, width, wide)
		}
	}
	b.do(chromedp.EmulateViewport(1440, 900))
}
