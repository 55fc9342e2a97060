package webtest

import (
	"strings"
	"testing"
)

// TestEditorByKeys goes through the page of a pipeline with Tab: it must not change the text. After a key was typed,
// Tab indents, and Escape and Tab leave the text.
func TestEditorByKeys(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	b := open(t, s.url+"/dashboard/pipelines?name=mine")
	b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect')`)
	b.until(`document.querySelector('[data-ui=save]')`)
	focused := `document.activeElement.matches('[data-ui=editor]')`
	for range 30 {
		b.keys("\t")
		if eval[bool](b, focused) {
			break
		}
	}
	b.until(focused + ` && getComputedStyle(document.querySelector('.tab-hint')).visibility === 'visible'`)
	b.keys("\t")
	b.until(`document.activeElement.textContent === 'From…' && document.querySelector('[data-ui=save]').disabled`)
	eval[bool](b, `((e) => (e.focus(), e.setSelectionRange(0, 0), true))(document.querySelector('[data-ui=editor]'))`)
	b.keys("#\t")
	b.until(`document.querySelector('[data-ui=editor]').value.startsWith('#  version')`)
	b.keys("\u001b\t")
	b.until(`document.activeElement.textContent === 'From…'`)
	b.keys("\t")
	b.until(`document.activeElement.textContent === 'File' &&
		document.activeElement.scrollWidth <= document.activeElement.clientWidth + 1`)
}

// TestFaultsOfOneLine writes two wrong words into one line: both must be underlined, and nothing else. The dialog that
// saves says why the text is refused, and does not offer to save it.
func TestFaultsOfOneLine(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	b := open(t, s.url+"/dashboard/pipelines?name=mine")
	b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect')`)
	b.typeInEditor(strings.Replace(pipelineText, "type: timestamp, index: timestamp",
		"type: timestmp, index: timestamp, on_failure: igore", 1))
	b.until(`[...document.querySelectorAll('.coloured-lines .c-wrong')].map((e) => e.textContent).join() ===
		'timestmp,igore'`)
	b.click(`[data-ui=save]`)
	b.until(`document.querySelector('dialog [data-ui=fault]').textContent.includes('unknown type') &&
		document.querySelector('dialog [data-ui=save-now]').disabled`)
	b.axe("save of a refused text")
	b.keys("\u001b")
	b.typeInEditor(" ")
	b.until(`document.querySelector('[data-ui=save]').disabled &&
		document.querySelector('.pipe .head').textContent.includes('the text is empty')`)
}

// TestSaveAndRestore saves a change: the results of the samples stay, and the compared table too. The first version is
// shown whole, and restoring it proposes a note.
func TestSaveAndRestore(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	s.send("mine", "app", "yesterday bad")
	b := open(t, s.url+"/dashboard/pipelines?name=mine")
	b.until(`document.querySelector('[data-ui=editor]').value.includes('dissect')`)
	b.click(`.samplepane .menu button`)
	b.until(`document.querySelector('.samplepane .panel .choice')`)
	b.click(`.samplepane .panel .choice`)
	failed := `document.querySelectorAll('[data-ui=sample][data-outcome=failed]').length === 1`
	b.until(failed + ` && document.querySelector('[data-ui=compare-table]').value === 'app'`)
	b.typeInEditor(pipelineText + "# more\n")
	b.click(`[data-ui=save]:not([disabled])`)
	b.until(`document.activeElement.matches('[data-ui=note]')`)
	b.click(`[data-ui=save-now]`)
	b.until(`!document.querySelector('dialog') &&
		document.querySelector('.title .tag').textContent.includes('newest of 2')`)
	b.until(failed + ` && document.querySelector('[data-ui=step]') && location.search.includes('t=app')`)
	eval[bool](b, `([...document.querySelectorAll('.title .button')].find((e) =>
		e.textContent === 'Versions').click(), true)`)
	b.until(`document.querySelectorAll('[data-ui=version]').length === 2`)
	b.click(`[data-ui=version]:last-child h3 button`)
	b.until(`document.querySelector('[data-ui=diff]').textContent.includes('+version: 2')`)
	b.click(`[data-ui=restore]`)
	b.click(`[data-ui=save]:not([disabled])`)
	b.until(`document.querySelector('[data-ui=note]').value.startsWith('Restored the version of 20')`)
}
