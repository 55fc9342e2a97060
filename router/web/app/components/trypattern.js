// Tries a pattern on one line, or a VRL program on one record, without a pipeline.

import { html, useEffect, useMemo, useState } from '../../vendor/core.js';
import { valueText } from '../lib/format.js';
import { completeProgram } from '../lib/pipelinecomplete.js';
import { capturedParts, patternKinds, pipelineOfPattern, pipelineOfProgram } from '../lib/trypattern.js';
import { colourProgram } from '../lib/yamltext.js';
import { clock, createLatest } from '../stores/latest.js';
import { CodeEditor } from './code.js';
import { Failure, Field } from './trace.js';

/** @typedef {import('../stores/dryrun.js').DryRun} DryRun */
/** @typedef {import('../stores/latest.js').Latest<DryRun>} Try */

const pauseBeforeTry = 150;

/** @param {{stores: import('../main.js').Stores}} props */
export function TryOut({ stores }) {
  return html`<div class="scrolled"><div class="state"><h1>Try a pattern or a program</h1><span class="quiet">Nothing is stored.</span>
    <span class="grow"></span><a class="button" href="/dashboard/pipelines">Pipelines</a></div>
    <${TryPattern} pipelines=${stores.pipelines} /><${TryProgram} pipelines=${stores.pipelines} /></div>`;
}

/**
 * Runs a record through a pipeline shortly after the last key.
 * @param {import('../main.js').Stores['pipelines']} pipelines
 * @param {string} pipeline
 * @param {string} record
 * @returns {Try}
 */
function useTry(pipelines, pipeline, record) {
  const [latest] = useState(() => /** @type {Try} */ (createLatest(clock)));
  useEffect(() => {
    const timer = setTimeout(
      () => record.trim() !== '' && void latest.run((signal) => pipelines.dryRun({ pipeline, lines: [record] }, signal)),
      pauseBeforeTry,
    );
    return () => clearTimeout(timer);
  }, [pipeline, record]);
  return latest;
}

/** @param {{pipelines: import('../main.js').Stores['pipelines']}} props */
function TryPattern({ pipelines }) {
  const [kind, setKind] = useState('dissect');
  const [pattern, setPattern] = useState(patternKinds.dissect.pattern);
  const [line, setLine] = useState(patternKinds.dissect.line);
  const latest = useTry(pipelines, pipelineOfPattern(kind, pattern), line);
  const choose = (/** @type {string} */ id) => {
    setKind(id);
    setPattern(patternKinds[id].pattern);
    setLine(patternKinds[id].line);
  };
  const record = latest.value.value?.records[0];
  const step = record?.steps?.[0];
  const fields = step ? [...step.added, ...step.changed].map((name) => /** @type {[string, string]} */ ([name, valueText(step.record?.[name])])) : [];
  return html`<section class="tryout" aria-label="Pattern"><h2 class="head">Pattern</h2>
    <div class="asks"><p class="orders" role="group" aria-label="Kind of pattern">${Object.entries(patternKinds).map(
      ([id, { name }]) =>
        html`<button type="button" class="text" data-ui=${`try-${id}`} aria-pressed=${id === kind} onClick=${() => choose(id)}>${name}</button>`,
    )}</p>
      <label>Pattern<input data-ui="try-pattern" spellcheck=${false} value=${pattern} onInput=${(/** @type {InputEvent} */ e) => setPattern(textOf(e))} /></label>
      <label>Line<input data-ui="try-line" spellcheck=${false} value=${line} onInput=${(/** @type {InputEvent} */ e) => setLine(textOf(e))} /></label>
      <${Wrong} latest=${latest} />
      ${
        fields.length > 0 &&
        !latest.error.value &&
        html`<p class="captured mono" data-ui="captured">
          ${capturedParts(line, fields).map((part, i) => (part.name ? html`<mark class=${`part-${i % 2}`} title=${part.name}>${part.text}</mark>` : part.text))}</p>
        <div class="trace">${fields.map(([name, value]) => html`<${Field} look="add" name=${name} value=${value} />`)}</div>`
      }</div></section>`;
}

/** @param {{pipelines: import('../main.js').Stores['pipelines']}} props */
function TryProgram({ pipelines }) {
  const [record, setRecord] = useState('{"message": "took 12.5 ms", "status": "502"}');
  const [source, setSource] = useState(
    ".status = to_int!(.status)\n.failed = .status >= 500\n.took = to_float!(parse_regex!(.message, r'(?<ms>[0-9.]+) ms').ms)\n.",
  );
  const latest = useTry(pipelines, pipelineOfProgram(source), record);
  useEffect(pipelines.loadHelps, [pipelines]);
  const functions = pipelines.helps.value.value?.functions;
  const traced = latest.value.value?.records[0];
  const step = traced?.steps?.[0];
  const complete = useMemo(() => {
    const fields = Object.keys(traced?.input ?? {});
    /** @type {import('./completion.js').Complete} */
    const found = (typed, caret) => (functions ? completeProgram(typed.slice(0, caret).split('\n').pop() ?? '', caret, functions, fields) : null);
    return found;
  }, [functions, traced]);
  return html`<section class="tryout" aria-label="VRL program"><h2 class="head">VRL program</h2>
    <div class="asks"><label>Record: an object of JSON, or a line<input data-ui="try-record" spellcheck=${false} value=${record}
      onInput=${(/** @type {InputEvent} */ e) => setRecord(textOf(e))} /></label>
      <div class="program"><${CodeEditor} label="Program" text=${source} lines=${useMemo(() => colourProgram(source), [source])} onText=${setSource}
        complete=${complete} /></div>
      <${Wrong} latest=${latest} />
      ${
        step &&
        !latest.error.value &&
        html`<div class="trace" data-ui="program-result">
          ${Object.keys(step.record ?? {}).map((name) => {
            const look = step.added.includes(name) ? 'add' : step.changed.includes(name) ? 'change' : '';
            return html`<${Field} look=${look} name=${name} value=${step.record?.[name]} old=${look === 'change' ? traced?.input?.[name] : undefined} />`;
          })}
          ${step.removed.map((name) => html`<${Field} look="cut" name=${name} value=${traced?.input?.[name]} />`)}</div>`
      }</div></section>`;
}

/** The error of a try. @param {{latest: Try}} props */
function Wrong({ latest }) {
  const error = latest.error.value;
  if (error) return html`<div class="faults" role="alert" data-ui="fault"><pre>${error.message}</pre></div>`;
  const record = latest.value.value?.records[0];
  if (record?.error) return html`<ol class="trace"><${Failure} error=${record.error} line=${0} onLine=${() => {}} /></ol>`;
  return record?.outcome === 'dropped' ? html`<p class="quiet">The record is dropped.</p>` : null;
}

/** @param {Event} event */
function textOf(event) {
  return /** @type {HTMLInputElement} */ (event.currentTarget).value;
}
