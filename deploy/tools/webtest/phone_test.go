package webtest

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestMenusOfPhone opens the menus of the page on a phone: nothing around a menu may cut it off, and it must be
// inside the window.
func TestMenusOfPhone(t *testing.T) {
	s := startWithStates(t)
	for _, m := range []struct{ name, path, ready, menu string }{
		{"options", "explore?t=app", anyRow, `[data-ui=list-acts]`},
		{"range", "explore?t=app", anyRow, `[data-ui=range]`},
		{"more", "explore?t=app", anyRow, `[data-ui=search-acts]`},
		{"pages", "explore?t=app", anyRow, `.tabbar .menu > button`},
		{"download", "sql?q=SELECT+1", `[data-ui=result]`, `[data-ui=take]`},
		{"history", "sql?q=SELECT+1", `[data-ui=result]`, `[data-ui=history]`},
		{"samples", "pipelines?name=mine", `[data-ui=editor]`, `.samplepane .menu > button`},
		{"change", "tables?t=app", `[data-ui=ddl]`, `[data-ui=table-actions]`},
		{"nodes", "cluster", `[data-ui=node]`, `[data-ui=nodes-acts]`},
		{"shards", "cluster", `[data-ui=node]`, `[data-ui=shards-acts]`},
	} {
		t.Run(m.name, func(t *testing.T) {
			b := openWith(t, watch, "about:blank")
			b.do(chromedp.EmulateViewport(390, 844), chromedp.Navigate(s.url+"/dashboard/"+m.path))
			if m.ready == `[data-ui=result]` {
				b.click(`[data-ui=run]`)
			}
			b.until(`document.querySelector(` + quote(m.ready) + `)`)
			b.click(m.menu)
			b.until(`(() => {
				const panel = document.querySelector('.panel'), {left, right, top, bottom} = panel.getBoundingClientRect();
				const seen = [[left + 4, top + 4], [right - 4, bottom - 4]].every(([x, y]) =>
					panel.contains(document.elementFromPoint(x, y)));
				return seen && left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
			})()`)
			b.shoot("menu-" + m.name)
		})
	}
}

// TestContextOfPhone asks for the rows around a row on a phone: they are in sight, and a tap opens one of them.
func TestContextOfPhone(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(100)...)
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.do(chromedp.EmulateViewport(390, 844))
	b.until(loaded + ` && document.querySelector('.row').clientHeight > 40`)
	b.click(`[data-ui=row]`)
	b.click(`.acts [data-ui=context]`)
	b.until(`(() => {
		const row = document.querySelector('[data-ui=context-row].on'), {x, y} = row.getBoundingClientRect();
		return row.contains(document.elementFromPoint(x + 20, y + 10));
	})()`)
	b.click(`[data-ui=context-row]:not(.on)`)
	b.until(`document.querySelector('[data-ui=detail]') && !document.querySelector('[data-ui=context-row]')`)
}

// TestWidthOfPhone checks that a page does not scroll sideways on a phone, and that the bar with the pages stays at the
// bottom, also under a page that has little to show.
func TestWidthOfPhone(t *testing.T) {
	s := start(t)
	b := openWith(t, watch+answering("/v1/cluster", "403", `{code: 7005, error: 'ann may not'}`), "about:blank")
	b.do(chromedp.EmulateViewport(390, 844), chromedp.Navigate(s.url+"/dashboard/pipelines?view=try"))
	b.until(`document.querySelector('[data-ui=program-result]')`)
	const beyond = `(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.querySelector('.scrolled'))`
	if wide := eval[int](b, beyond); wide > 0 {
		t.Errorf("the page is %d pixels wider than the screen", wide)
	}
	b.do(chromedp.Navigate(s.url + "/dashboard/cluster"))
	b.until(`document.querySelector('[data-ui=error]')`)
	b.until(`document.querySelector('.tabbar').getBoundingClientRect().bottom === innerHeight`)
}
