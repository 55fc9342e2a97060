// The result of a dry run: the samples, every step of one of them, and what would be stored.

import { html, useState } from '../../vendor/core.js';
import { formatCount, valueText, visible } from '../lib/format.js';
import { formatPlace } from '../lib/url.js';
import { placeOfStep } from '../lib/yamltext.js';

/** @typedef {import('../stores/dryrun.js').TracedRecord} TracedRecord */

const looks = /** @type {Record<string, string>} */ ({ stored: 'good', dropped: 'drop', failed: 'bad' });

/**
 * @param {object} props
 * @param {string[]} props.samples
 * @param {(TracedRecord | undefined)[]} props.results of each sample, if there is one yet
 * @param {boolean} props.compared with a table
 * @param {number} props.chosen
 * @param {(index: number) => void} props.onChoose
 * @param {(index: number) => void} props.onRemove
 */
export function Samples({ samples, results, compared, chosen, onChoose, onRemove }) {
  return html`<ul class="samples">${samples.map((text, i) => {
    const record = results[i];
    return html`<li class=${`${looks[record?.outcome ?? ''] ?? ''} ${i === chosen ? 'on' : ''}`} data-ui="sample" data-outcome=${record?.outcome ?? ''}>
      <button onClick=${() => onChoose(i)} aria-pressed=${i === chosen}><span>${visible(text.slice(0, 400))}</span><small>${outcomeOf(record, compared)}</small></button>
      <button class="text cut" aria-label=${`Remove sample ${i + 1}`} onClick=${() => onRemove(i)}>✕</button></li>`;
  })}</ul>`;
}

const unnamed = /^dry_run/; // as the server calls the table of the sender, if it compares with none

/** The name of a table that would get rows. @param {string} name @param {boolean} compared */
function tableName(name, compared) {
  if (compared || !unnamed.test(name)) return name;
  const suffix = name.replace(unnamed, '');
  return `the sender’s table${suffix && ` with ${suffix}`}`;
}

/** @param {TracedRecord | undefined} record @param {boolean} compared */
function outcomeOf(record, compared) {
  if (!record) return '';
  if (record.outcome === 'stored') return `stored → ${[...new Set(record.rows.map((r) => tableName(r.table, compared)))].join(', ')}`;
  if (record.outcome === 'failed') return `failed at ${record.error?.step ?? ''}`;
  const last = record.steps?.[record.steps.length - 1];
  return `dropped${last ? ` by ${last.step}` : ''}`;
}

/** @typedef {{name: string, line: number}[]} Plan the processors of the text */

/** @param {{record: TracedRecord, plan: Plan, onlyChanges: boolean, onLine: (line: number) => void}} props */
export function Trace({ record, plan, onlyChanges, onLine }) {
  const steps = record.steps ?? [];
  const error = record.error;
  let before = record.input ?? {};
  return html`${
    record.cut &&
    html`<p class="quiet none"
    data-ui="trace-cut">Values are left out, because the answer would be too large. Fewer or shorter samples show all of them.</p>`
  }
    <ol class="trace">
    <li data-ui="step" data-outcome="input"><h3>record</h3>
      ${Object.entries(record.input ?? {}).map(([name, value]) => html`<${Field} name=${name} value=${value} />`)}</li>
    ${steps.map((step) => {
      const from = before;
      before = step.record ?? {};
      return html`<${StepView} step=${step} from=${from} line=${lineIn(step, plan)} onlyChanges=${onlyChanges} onLine=${onLine} />`;
    })}
    ${error && html`<${Failure} error=${error} line=${lineIn(error, plan)} onLine=${onLine} />`}
    ${record.outcome === 'dropped' && html`<li class="none" data-ui="step" data-outcome="dropped"><h3>dropped</h3>The record is not stored.</li>`}
    ${notReached(record, plan).map(
      ({ name, line }) => html`<li class="none" data-ui="step" data-outcome="not-reached"><h3>${name}<small>
      <${ToLine} line=${line} onLine=${onLine} /></small></h3>not reached</li>`,
    )}
  </ol>`;
}

/**
 * The processors behind the one at which a record failed or was dropped. Of a record that went on to another pipeline
 * nothing is said: whether the others would have been reached is not known.
 * @param {TracedRecord} record
 * @param {Plan} plan
 */
export function notReached({ outcome, steps = [], error }, plan) {
  if (outcome === 'stored') return [];
  const last = error ?? steps[steps.length - 1];
  const place = last && last.pipeline === '' ? placeOfStep(last.step) : -1;
  return place < 0 ? [] : plan.slice(place + 1);
}

/** @param {{line: number, onLine: (line: number) => void}} props line: 0 is none */
function ToLine({ line, onLine }) {
  return line > 0 && html`<button class="text" onClick=${() => onLine(line)}>line ${line}</button>`;
}

/**
 * The line of this text on which a step begins; 0: it is a step of another pipeline, to which the record went on.
 * @param {{pipeline: string, step: string, line?: number}} of
 * @param {Plan} plan
 */
function lineIn({ pipeline, step, line }, plan) {
  return pipeline ? 0 : (line ?? plan[placeOfStep(step)]?.line ?? 0);
}

const leftOut = '…'; // for a value that the server left out

/** @param {{step: import('../stores/dryrun.js').Step, from: Record<string, unknown>, line: number, onlyChanges: boolean, onLine: (line: number) => void}} props */
function StepView({ step, from, line, onlyChanges, onLine }) {
  const changes = step.added.length + step.changed.length + step.removed.length > 0;
  const now = step.record;
  const same = Object.keys(now ?? {}).filter((name) => !step.added.includes(name) && !step.changed.includes(name));
  return html`<li data-ui="step" data-outcome="ok"><h3><${StepName} step=${step} /><small><${ToLine} line=${line} onLine=${onLine} />
    ${(step.took_us ?? 0) > 0 && ` · ${step.took_us} µs`}</small></h3>
    ${step.added.map((name) => html`<${Field} look="add" name=${name} value=${now ? now[name] : leftOut} />`)}
    ${step.changed.map((name) => html`<${Field} look="change" name=${name} value=${now ? now[name] : leftOut} old=${now ? from[name] : undefined} />`)}
    ${step.removed.map((name) => html`<${Field} look="cut" name=${name} value=${name in from ? from[name] : leftOut} />`)}
    ${!changes && html`<span class="quiet">nothing changed</span>`}
    ${!onlyChanges && same.map((name) => html`<${Field} name=${name} value=${now?.[name]} />`)}</li>`;
}

/** @param {{step: {pipeline: string, step: string, line?: number}}} props */
function StepName({ step: { pipeline, step, line } }) {
  const short = step.replace(/^processors\[\d+\] /, '');
  const goesOn = /^dispatcher: to (.+)$/.exec(step)?.[1];
  const link = (/** @type {string} */ name) => html`<a class="go" data-ui="other-pipeline" href=${formatPlace('pipelines', { name })}>${name}</a>`;
  if (goesOn) return html`goes on in the pipeline ${link(goesOn)}`;
  return pipeline ? html`${short}<span class="quiet">in ${link(pipeline)}${line && `, line ${line}`}</span>` : short;
}

/** @param {{look?: string, name: string, value: unknown, old?: unknown}} props */
export function Field({ look = '', name, value, old }) {
  const text = visible(valueText(value).slice(0, 2000));
  return html`<p class=${look}><b title=${name}>${name}</b><span title=${text.slice(0, 500)}>
    ${old !== undefined && html`<s>${visible(valueText(old).slice(0, 200))}</s> → `}${text === '' ? '“”' : text}</span></p>`;
}

/** @param {{error: import('../stores/dryrun.js').StepError, line: number, onLine: (line: number) => void}} props */
export function Failure({ error, line, onLine }) {
  return html`<li class="bad" data-ui="step" data-outcome="failed"><h3><${StepName} step=${error} /><small><${ToLine} line=${line} onLine=${onLine} /></small></h3>
    <div class="why">${error.field && html`Field <code>${error.field}</code>: `}${visible(error.reason)}
      ${error.value && html`<br /><code>${markedAt(error)}</code>`}</div></li>`;
}

/** The value, with the place marked at which it does not fit. @param {import('../stores/dryrun.js').StepError} error */
function markedAt({ value, offset, reason }) {
  const text = value.replace(/^"(.*)"$/s, '$1');
  const at = offset ?? Number(/at (?:byte|position|offset) (\d+)/.exec(reason)?.[1] ?? -1);
  if (at < 0) return visible(text);
  return html`${visible(text.slice(0, at))}<u>${visible(text.slice(at, at + 1)) || '\u00a0'}</u>${visible(text.slice(at + 1))}`;
}

/** What would be stored. @param {{answer: import('../stores/dryrun.js').DryRun, compared: boolean, children?: unknown}} props compared: with a table */
export function StoredTables({ answer, compared, children }) {
  const [chosen, setChosen] = useState('');
  const table = answer.tables.find((t) => t.table_name === chosen) ?? answer.tables[0];
  const count = (/** @type {string} */ outcome) => answer.records.filter((r) => r.outcome === outcome).length;
  return html`<div class="head"><h2>What would be stored</h2><div class="tabs" role="group" aria-label="Tables">${answer.tables.map(
    (t) =>
      html`<button class="text" aria-pressed=${t === table} onClick=${() => setChosen(t.table_name)}>${tableName(t.table_name, compared)}<small>
        ${formatCount(t.rows.length)}${compared && t.exists === false ? ', a new table' : ''}${optionsOf(t)}</small></button>`,
  )}</div><span class="grow"></span><span class="quiet wide">
    ${formatCount(count('stored'))} stored, ${formatCount(count('dropped'))} dropped, ${formatCount(count('failed'))} failed</span>${children}</div>
    ${
      table
        ? html`<${StoredTable} table=${table} conflicts=${(answer.conflicts ?? []).filter((c) => c.table === table.table_name)} />`
        : html`<p
      class="quiet none">No sample would be stored.</p>`
    }`;
}

/** @param {import('../stores/dryrun.js').StoredTable} table */
function optionsOf({ options }) {
  const said = Object.entries(options ?? {}).filter(([name, value]) => name !== 'append_mode' || value !== 'true');
  return said.map(([name, value]) => `, ${name} ${value}`).join('');
}

/**
 * Values that do not fit the column that exists.
 * @param {import('../stores/dryrun.js').Conflict} conflict
 */
function conflictText({ column, type, outcome, records, example }) {
  const what = `${formatCount(records)} ${records === 1 ? 'value does' : 'values do'} not fit ${column}${type ? `, which is ${type}` : ''}, such as ${visible(example.slice(0, 80))}`;
  return outcome === 'aside' ? `${what}. They are put aside in ${column}_conflict.` : `${what}. These records fail.`;
}

/** @param {{table: import('../stores/dryrun.js').StoredTable, conflicts: import('../stores/dryrun.js').Conflict[]}} props */
function StoredTable({ table, conflicts }) {
  const different = (table.different_options ?? []).map((o) => `${o.option} ${o.table || 'not set'} instead of ${o.wanted}`);
  const warning = [table.refused, different.length > 0 && `The table keeps its own options: ${different.join(', ')}.`, ...conflicts.map(conflictText)].filter(
    Boolean,
  );
  return html`${warning.map((text) => html`<p class="wrong none" data-ui="stored-warning">${text}</p>`)}
    ${
      (table.rows_cut ?? 0) > 0 &&
      html`<p class="quiet none">
      ${formatCount(table.rows_cut ?? 0)} more ${table.rows_cut === 1 ? 'row is' : 'rows are'} not shown, because the answer would be too large.</p>`
    }
    <div class="storedrows" tabindex="0" role="region" aria-label=${`Rows of ${table.table_name}`}><table><thead><tr>${table.schema.map(
      (c) => html`<th class=${isNumber(c) ? 'r' : ''} data-ui="stored-column">${c.name}<small>
        ${c.data_type.toLowerCase().replace('timestamp_', 'timestamp, ')}
        ${c.column_type === 'TIMESTAMP' ? ' · time index' : c.column_type === 'TAG' ? ' · tag' : ''}
        ${c.index ? ` · ${c.index}` : c.fulltext ? ' · fulltext' : ''}</small>
        ${table.exists && table.new_columns?.includes(c.name) && html`<span class="tag new">new</span>`}</th>`,
    )}</tr></thead><tbody>${table.rows.map(
      (row) =>
        html`<tr>${table.schema.map((c) => {
          const value = row.find((cell) => cell.key === c.name)?.value ?? null;
          return html`<td class=${`${isNumber(c) ? 'r' : ''} ${value === null ? 'nul' : isNumber(c) ? 'num' : ''}`}>
            ${value === null ? 'null' : visible(cellOf(value, c.data_type).slice(0, 200))}</td>`;
        })}</tr>`,
    )}</tbody></table></div>`;
}

/** Reports whether a column has numbers, which stand at the right. @param {{data_type: string}} column */
function isNumber({ data_type: type }) {
  return /^U?INT|^FLOAT|^DOUBLE|^DECIMAL/.test(type);
}

const perSecond = /** @type {Record<string, number>} */ ({ SECOND: 1, MILLISECOND: 1e3, MICROSECOND: 1e6, NANOSECOND: 1e9 });

/**
 * @param {unknown} value
 * @param {string} type
 */
function cellOf(value, type) {
  const unit = perSecond[type.replace('TIMESTAMP_', '')];
  if (!type.startsWith('TIMESTAMP') || !unit) return valueText(value);
  const at = new Date((Number(value) / unit) * 1000);
  return Number.isNaN(at.getTime()) ? String(value) : at.toISOString().replace('T', ' ').replace('Z', '');
}
