// What is wrong with the text of a pipeline, and where samples fail.

import { html } from '../../vendor/core.js';
import { formatCount, sentence, visible } from '../lib/format.js';
import { explained, placeOfStep } from '../lib/yamltext.js';

/**
 * @typedef {import('../stores/dryrun.js').TracedRecord} TracedRecord
 * @typedef {{name: string, line: number}} Step
 * @typedef {{line: number, records: number, first: import('../stores/dryrun.js').StepError}} Failure
 */

/** @param {{stores: import('../main.js').Stores, onLine?: (line: number) => void}} props without onLine, there is no text beside it */
export function Faults({ stores, onLine }) {
  const { dry, faults } = stores.pipelines;
  const error = dry.error.value;
  if (!error) return null;
  return html`<div class="faults" role="alert" data-ui="fault">${
    faults.value.length === 0
      ? html`<p>${error.message}</p>`
      : faults.value.map(
          (f) =>
            html`<div>
              ${
                onLine
                  ? html`<button class="text go" onClick=${() => onLine(f.line)}>line ${f.line}</button><p>
              ${visible(explained(f))}</p>`
                  : html`<span>line ${f.line}</span><pre>${f.message}${f.excerpt && `\n${f.excerpt}`}</pre>`
              }</div>`,
        )
  }</div>`;
}

/**
 * The lines of this text at which samples fail, from above.
 * @param {TracedRecord[]} records
 * @param {Step[]} steps
 * @returns {Failure[]}
 */
export function failuresOf(records, steps) {
  /** @type {Map<number, Failure>} */
  const found = new Map();
  for (const { error } of records) {
    if (!error || error.pipeline !== '') continue;
    const line = error.line ?? steps[placeOfStep(error.step)]?.line ?? 0;
    const failure = found.get(line) ?? { line, records: 0, first: error };
    found.set(line, { ...failure, records: failure.records + 1 });
  }
  return [...found.values()].sort((a, b) => a.line - b.line);
}

/**
 * What the editor says at the ends of lines: what is wrong with each, or why samples fail there.
 * @param {import('../lib/yamltext.js').Fault[]} faults
 * @param {Failure[]} failures
 * @returns {Map<number, string>}
 */
export function notesOf(faults, failures) {
  /** @type {Map<number, string>} */
  const notes = new Map();
  const note = (/** @type {number} */ line, /** @type {string} */ text) => {
    const known = notes.get(line);
    notes.set(line, visible(known ? `${known}; ${text}` : text));
  };
  for (const { line, records, first } of failures) note(line, `${formatCount(records)} ${records === 1 ? 'fails' : 'fail'}: ${first.reason}`);
  for (const { line, message } of faults) note(line, explained({ line, message }));
  return notes;
}

/** @param {{failures: Failure[], of: number, onLine: (line: number) => void}} props of: how many samples there are */
export function Failures({ failures, of, onLine }) {
  if (failures.length === 0) return null;
  return html`<div class="faults" role="region" aria-label="Where samples fail" data-ui="failing">${failures.map(
    ({ line, records, first }) =>
      html`<div>${line > 0 ? html`<button class="text go" onClick=${() => onLine(line)}>line ${line}</button>` : html`<span>${first.step}</span>`}
        <p>${formatCount(records)} of ${formatCount(of)} ${of === 1 ? 'sample' : 'samples'} ${records === 1 ? 'fails' : 'fail'} here. ${
          first.field
            ? html`Field <code>
          ${first.field}</code>: ${visible(first.reason)}`
            : visible(sentence(first.reason))
        }</p></div>`,
  )}</div>`;
}

/**
 * The marks beside the line of each step: how many samples passed it, failed at it, and were dropped by it.
 * @param {import('../stores/dryrun.js').DryRun | null} answer
 * @param {Step[]} steps
 */
export function marksOf(answer, steps) {
  /** @type {Map<number, unknown>} */
  const marks = new Map();
  if (!answer) return marks;
  steps.forEach(({ line }, place) => {
    const here = (/** @type {string} */ step) => step.startsWith(`processors[${place}] `);
    const passed = answer.records.filter((r) => passes(r, place, here)).length;
    const failed = answer.records.filter((r) => r.outcome === 'failed' && r.error?.pipeline === '' && here(r.error.step)).length;
    const dropped = answer.records.filter((r) => r.outcome === 'dropped' && here(r.steps?.[r.steps.length - 1]?.step ?? '')).length;
    if (passed + failed === 0) return;
    marks.set(line, html`✓ ${passed}${failed > 0 && html` <i>✗ ${failed}</i>`}${dropped > 0 && html` <u>⊘ ${dropped}</u>`}`);
  });
  return marks;
}

/**
 * Reports whether a record passed a step. Of a record beyond the tenth, the answer says only how it ended.
 * @param {import('../stores/dryrun.js').TracedRecord} record
 * @param {number} place of the step
 * @param {(step: string) => boolean} here
 */
function passes({ steps, outcome, error }, place, here) {
  if (steps && steps.length > 0) return steps.some((s) => s.pipeline === '' && here(s.step));
  if (outcome === 'dropped') return false;
  const failedAt = error?.pipeline === '' ? placeOfStep(error.step) : -1;
  return failedAt < 0 || place < failedAt;
}
