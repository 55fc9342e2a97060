package webtest

import (
	"strings"
	"testing"
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
	b.until(`document.querySelector('[data-ui=fault]').textContent.includes('expected a map')`)
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
