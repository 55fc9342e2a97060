package webtest

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPipelineCompletion completes a step, one of its options and a function of VRL with the keyboard
// only.
func TestPipelineCompletion(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	b := open(t, s.url+"/dashboard/pipelines?name=mine")
	b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect')`)
	b.typeInEditor("version: 2\nprocessors:\n- diss")
	b.until(`document.querySelector('[role=option]').textContent.startsWith('dissect')`)
	b.until(`document.querySelector('#completion-help').textContent.length > 40`)
	b.keys(kb.Tab)
	b.until(`document.querySelector('[data-ui=editor]').value.endsWith('- dissect:')`)
	b.typeInEditor("version: 2\nprocessors:\n- dissect: {ignore_")
	b.keys(kb.ArrowDown)
	b.until(`document.getElementById(document.querySelector('[data-ui=editor]').
		getAttribute('aria-activedescendant')).textContent.startsWith('ignore_missing')`)
	if eval[bool](b, `document.activeElement.dispatchEvent(new KeyboardEvent('keydown',
		{key: 'Enter', bubbles: true, cancelable: true}))`) {
		t.Error("Enter breaks the line, too")
	}
	b.until(`document.querySelector('[data-ui=editor]').value.endsWith('{ignore_missing: ')`)
	b.typeInEditor("processors:\n- vrl:\n    source: |\n      .a = parse_js")
	b.until(`document.querySelector('#completion-help').textContent.includes('parse_json(value: string')`)
	b.shoot("completion-pipeline")
	b.keys(kb.Escape)
	b.until(`!document.querySelector('[data-ui=completions]') && document.activeElement.dataset.ui === 'editor'`)
}

// TestSQLCompletion completes a table, a column of it and a keyword.
func TestSQLCompletion(t *testing.T) {
	s := start(t)
	s.ingest("orders", logs(10)...)
	b := open(t, s.url+"/dashboard/sql")
	b.until(`document.querySelector('.sqlnames h3')`)
	b.typeInEditor("SELECT 1 FROM ord")
	b.until(`document.querySelector('[role=option]').textContent.startsWith('orders')`)
	b.keys(kb.Tab)
	b.until(`document.querySelector('[data-ui=editor]').value === 'SELECT 1 FROM orders'`)
	b.typeInEditor("SELECT 1 FROM orders WHERE lev")
	b.until(`document.querySelector('[role=option]').textContent.startsWith('level')`)
	b.shoot("completion-sql")
	b.keys(kb.Tab)
	b.until(`document.querySelector('[data-ui=editor]').value.endsWith('WHERE level')`)
	b.typeInEditor("SELECT date_tr")
	b.until(`document.querySelector('#completion-help code').textContent.startsWith('date_trunc(')`)
	b.do(chromedp.EmulateViewport(390, 844))
	b.typeInEditor("SELECT 1 FROM orders ORD")
	b.until(`(() => { const r = document.querySelector('[data-ui=completions]').getBoundingClientRect();
		return r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight })()`)
	b.shoot("completion-phone")
}

// typeInEditor replaces the text of the editor, as if it were typed.
func (b *tab) typeInEditor(text string) {
	b.t.Helper()
	b.until(`document.querySelector('[data-ui=editor]:not([readonly])')`)
	eval[bool](b, `(() => { const e = document.querySelector('[data-ui=editor]'); e.focus(); e.select();
		return document.execCommand('insertText', false, `+quote(text)+`) })()`)
}

// keys sends keys to the focused element.
func (b *tab) keys(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}
