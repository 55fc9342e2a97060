package webtest

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// tab is a page of the browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// watch records violations of the content security policy, and errors of scripts, in each document.
const watch = `window.faults = [];
addEventListener('securitypolicyviolation', (e) => faults.push(e.violatedDirective + ' ' + e.blockedURI));
addEventListener('error', (e) => faults.push(String(e.message)));
addEventListener('unhandledrejection', (e) => faults.push(String(e.reason)));`

// open opens an address in a new tab, which is closed when the test ends. A violation of the content
// security policy fails the test.
func open(t *testing.T, url string) *tab {
	t.Helper()
	return openWith(t, watch, url)
}

// openWith is open with a script that runs in each document before the page's own scripts.
func openWith(t *testing.T, script, url string) *tab {
	t.Helper()
	return openTab(t, script, url)
}

// openAlone is open with cookies and a local storage that no other tab has.
func openAlone(t *testing.T, url string) *tab {
	t.Helper()
	return openTab(t, watch, url, chromedp.WithNewBrowserContext())
}

func openTab(t *testing.T, script, url string, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser, options...)
	t.Cleanup(end)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil { // a deadline on the first call would close the tab
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1440, 900))
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(url))
	t.Cleanup(func() {
		for _, fault := range eval[[]string](b, `window.faults`) {
			t.Error("in the browser:", fault)
		}
	})
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval returns the value of an expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for an expression to become true. An expression that fails because an element is missing
// counts as false. An evaluation that a navigation interrupts is repeated.
func (b *tab) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for ticker := time.NewTicker(30 * time.Millisecond); ; <-ticker.C {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](
			"(() => { try { return !!("+expression+") } catch { return false } })()"))
		switch {
		case err != nil && (!strings.Contains(err.Error(), "navigated") || time.Now().After(deadline)):
			b.t.Fatalf("%s: %v", expression, err)
		case err == nil && is:
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("after 15 s this is not so: %s\n%s", expression,
				eval[string](b, `(document.querySelector('main') ?? document.body).innerText.slice(0, 900)`))
		}
	}
}

// click clicks the first element with a name.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.until(`document.querySelector(` + quote(selector) + `)`)
	eval[bool](b, `(document.querySelector(`+quote(selector)+`).click(), true)`)
}

// clickByMouse clicks the first element with a name as a reader does, who sees no frame around what was clicked.
func (b *tab) clickByMouse(selector string) {
	b.t.Helper()
	b.until(`document.querySelector(` + quote(selector) + `)`)
	box := eval[map[string]float64](b, `document.querySelector(`+quote(selector)+`).getBoundingClientRect().toJSON()`)
	x, y, left := box["x"]+box["width"]/2, box["y"]+box["height"]/2, chromedp.Button("left")
	b.do(chromedp.MouseEvent(chromedp.MousePressed, x, y, left, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseReleased, x, y, left, chromedp.ClickCount(1)))
}

// signIn enters a name and a password into the dialog of the page.
func (b *tab) signIn(user, password string) {
	b.t.Helper()
	b.until(`document.querySelector('[data-ui=login]')`)
	eval[bool](b, `(document.querySelector('[data-ui=login-user]').value = `+quote(user)+`,
		document.querySelector('[data-ui=login-password]').value = `+quote(password)+`,
		document.querySelector('[data-ui=login]').click(), true)`)
}

// search types a text and runs it.
func (b *tab) search(text string) {
	b.t.Helper()
	eval[bool](b, `(() => { const a = document.querySelector('[data-ui=search]'); a.value = `+quote(text)+`;
		a.dispatchEvent(new InputEvent('input', {bubbles: true}));
		document.querySelector('[data-ui=run]').click(); return true })()`)
}

// theme makes the browser request the light or the dark theme.
func (b *tab) theme(name string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
		},
	}); err != nil {
		b.t.Fatal(err)
	}
}

// shoot saves a screenshot of the tab in the folder WEB_SHOTS.
func (b *tab) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("WEB_SHOTS")
	if dir == "" {
		return
	}
	full, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	small, err := withPalette(full)
	if err == nil {
		err = os.WriteFile(dir+"/"+name+".png", small, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// withPalette reduces a picture to 256 of its colours, and replaces each other colour by the nearest of them. Of
// colours that hardly differ, such as those of the edges of letters, it takes one, so that rare colours stay.
func withPalette(full []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(full))
	if err != nil {
		return nil, err
	}
	bounds := picture.Bounds()
	counts := map[color.Color]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[picture.At(x, y)]++
		}
	}
	const areas = 40 // the most frequent colours, which are those of surfaces, stay even if they are alike
	type alike struct{ r, g, b uint32 }
	var chosen color.Palette
	taken := map[alike]bool{}
	for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] }) {
		r, g, b, _ := c.RGBA()
		if kind := (alike{r >> 12, g >> 12, b >> 12}); len(chosen) < areas || !taken[kind] && len(chosen) < 256 {
			taken[kind], chosen = true, append(chosen, c)
		}
	}
	small := image.NewPaletted(bounds, chosen)
	draw.Draw(small, bounds, picture, bounds.Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}
