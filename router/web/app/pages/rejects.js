// Rejects: the records that could not be stored, by reason, and what can be done with them.

import { html, useEffect, useLayoutEffect, useState } from '../../vendor/core.js';
import { Dialog } from '../components/dialog.js';
import { colourOf, Histogram } from '../components/histogram.js';
import { useIgnored } from '../components/ignored.js';
import { useMay } from '../components/may.js';
import { RejectList } from '../components/rejectlist.js';
import { Empty, ErrorPanel, Progress } from '../components/states.js';
import { formatCount, visible } from '../lib/format.js';
import { tableTarget } from '../lib/sqlquote.js';
import { formatTime } from '../lib/time.js';
import { formatPlace, unknownParts } from '../lib/url.js';
import { groupReasons, replayWords } from '../stores/rejects.js';

/** @typedef {import('../stores/rejects.js').Wanted} Wanted */

const isTime = (/** @type {string} */ text) => !Number.isNaN(Date.parse(text));
const timeOf = (/** @type {string} */ text) => (isTime(text) ? text : '');
const everything = JSON.stringify({ pipeline: '', table: '', kind: '', from: '', to: '' }); // no condition
const mostTargets = 20; // tables whose rights are asked for
const parameters = { pipeline: null, t: null, kind: null, from: isTime, to: isTime };

/** @param {{stores: import('../main.js').Stores}} props */
export function RejectsPage({ stores }) {
  const { rejects, place, prefs, signIn } = stores;
  const params = place.here.value.params;
  const wanted = {
    pipeline: params.get('pipeline') ?? '',
    table: params.get('t') ?? '',
    kind: params.get('kind') ?? '',
    from: timeOf(params.get('from') ?? ''),
    to: timeOf(params.get('to') ?? ''),
  };
  useIgnored(place.page.value === 'rejects' ? unknownParts(params, parameters) : []);
  const key = JSON.stringify(wanted);
  const [replays, setReplays] = useState(false);
  const [opened, setOpened] = useState(-1); // the reason whose newest record is shown
  useEffect(() => {
    document.title = 'Rejects · cordwood';
    setOpened(-1);
    void rejects.load(wanted);
  }, [key]);
  const set = (/** @type {Record<string, string>} */ change) =>
    place.set('rejects', { pipeline: wanted.pipeline, t: wanted.table, kind: wanted.kind, from: wanted.from, to: wanted.to, ...change });
  const answer = rejects.reasons.value.value;
  const samples = rejects.samples.value.value ?? [];
  const count = answer?.total ?? 0;
  /** A value that shows only its records when it is clicked, if there are others. */
  const narrow = (/** @type {'kind' | 'pipeline' | 'table'} */ of, /** @type {string} */ value, /** @type {Record<string, string>} */ change) =>
    answer?.list.some((r) => r[of] !== value)
      ? html`<button class="text" data-ui=${`only-${of}`} aria-label=${`Show only the ${of} ${value}`} title=${`Show only the ${of} ${value}`}
        onClick=${() => set(change)}>${value}</button>`
      : value;
  const targets = [...new Set(answer?.list.map(({ newest }) => tableTarget(newest.db, newest.table)))].slice(0, mostTargets);
  const mayReplay = useMay(
    signIn,
    targets.map((target) => ['DELETE', target]),
  )?.some(Boolean);
  const filters = [
    ['pipeline', wanted.pipeline, { pipeline: '' }],
    ['table', wanted.table, { t: '' }],
    ['kind', wanted.kind, { kind: '' }],
    ['time', timesOf(wanted, prefs.zone.value), { from: '', to: '' }],
  ];
  return html`<div class="scrolled"><div class="state"><h1>Rejects</h1><span class="quiet" data-ui="total">
    ${answer?.there && `${formatCount(count)} ${count === 1 ? 'record' : 'records'} that could not be stored${keptFor(stores)}`}
    ${answer?.there && key === everything && html`<${Restored} count=${rejects.restored.value.value ?? 0} />`}</span><span class="grow"></span>
      ${filters.map(
        ([name, value, without]) =>
          value &&
          html`<button class="button" aria-label=${`Remove the condition ${name} ${value}`}
        onClick=${() => set(/** @type {Record<string, string>} */ (without))}>${name} ${value} ✕</button>`,
      )}
      ${wanted.pipeline && html`<a class="button" href=${formatPlace('pipelines', { name: wanted.pipeline })}>Fix in pipeline</a>`}
      ${count > 0 && mayReplay && html`<button class="button main" data-ui="replay" onClick=${() => setReplays(true)}>Replay…</button>`}</div>
    <${Progress} since=${rejects.reasons.since.value} onCancel=${rejects.reasons.cancel} />
    <${ErrorPanel} latest=${rejects.reasons} what="Counting the rejects" />
    ${answer && count === 0 && html`<${NoRejects} there=${answer.there} />`}
    ${
      count > 0 &&
      html`<${OverTime} rejects=${rejects} zone=${prefs.zone.value} onZoom=${(/** @type {string} */ from, /** @type {string} */ to) => set({ from, to })} />
      <h2 class="head">By reason</h2><div class="wide-table listed"><table><thead><tr><th class="r">records</th><th>reason</th><th>kind</th>
        <th>pipeline</th><th>table</th><th class="opt">last, ${prefs.zone.value}</th></tr></thead>
      <tbody>${answer?.list.map(
        (r, i) => html`<tr data-ui="reason"><td class="r">${formatCount(r.count)}</td><td class="samples" title=${r.reason}>
          <button class="text" data-ui="reason-open" aria-expanded=${i === opened} onClick=${() => setOpened(i === opened ? -1 : i)}>
          ${visible(r.reason.slice(0, 300))}</button></td>
          <td>${narrow('kind', r.kind, { kind: r.kind })}</td><td>${narrow('pipeline', r.pipeline, { pipeline: r.pipeline })}</td><td>
            ${narrow('table', r.table, { t: r.table })}</td><td class="opt">${formatTime(r.last, prefs.zone.value)}</td></tr>
          ${i === opened && html`<tr class="opened"><td></td><td colspan="5"><${RejectList} stores=${stores} rejects=${[r.newest]} /></td></tr>`}`,
      )}</tbody></table></div>
      <h2 class="head">The newest<span class="quiet">${formatCount(samples.length)}</span><span class="grow"></span>
        <a class="text go"
          href=${formatPlace('explore', { db: 'svc_private', t: 'rejects', q: wanted.pipeline ? `pipeline=${wanted.pipeline}` : '', from: '-7d' }, { db: 'public' })}>Search in Explore</a></h2>
      <${RejectList} stores=${stores} rejects=${samples} />`
    }
    ${replays && html`<${ReplayDialog} stores=${stores} wanted=${wanted} count=${count} onClose=${() => setReplays(false)} />`}</div>`;
}

/** How many of all rejects were stored after all. @param {{count: number}} props */
function Restored({ count }) {
  return count > 0 && html`; ${formatCount(count)} ${count === 1 ? 'was' : 'were'} stored later, by a replay`;
}

/**
 * @param {Wanted} wanted
 * @param {string} zone
 */
function timesOf({ from, to }, zone) {
  return [from && `from ${formatTime(from, zone)}`, to && `to ${formatTime(to, zone)}`].filter(Boolean).join(' ');
}

/** @param {import('../main.js').Stores} stores */
function keptFor({ tables }) {
  const ttl = tables.all.value.find((t) => t.db === 'svc_private' && t.name === 'rejects')?.ttl ?? '';
  return ttl && `; they are kept for ${ttl.replace(/(\d)([a-z])/gi, '$1 $2')}`;
}

/** How many there were over time, by kind. @param {{rejects: import('../main.js').Stores['rejects'], zone: string, onZoom: (from: string, to: string) => void}} props */
function OverTime({ rejects, zone, onZoom }) {
  const hits = rejects.overTime.value.value;
  if (!hits) return html`<${ErrorPanel} latest=${rejects.overTime} what="Counting over time" />`;
  return html`<p class="legend overtime">
    ${hits.series.map(
      (s, i) => html`<span><i style=${{ background: colourOf(s.value, i, false) }}></i>${s.value}<b>
    ${formatCount(s.counts.reduce((a, b) => a + b, 0))}</b></span>`,
    )}</p>
    <${Histogram} hits=${hits} hidden=${[]} zone=${zone} height=${72} byLevel=${false} onZoom=${onZoom} />`;
}

/** @param {{there: boolean}} props */
function NoRejects({ there }) {
  if (there) return html`<${Empty} title="No record was rejected."><p>With these conditions, as long as rejects are kept.</p><//>`;
  return html`<${Empty} title="The server keeps no rejected records.">
    <p>Records that cannot be stored fail their request, or are dropped with <b class="mono">skip_error=true</b>.</p>
    <p>They are kept, and shown here, with <b
      class="mono">skip_error=true&on_reject=store</b> in the address of a sender, or if the server runs with <b class="mono">--on-reject store</b>.</p><//>`;
}

/** @param {{stores: import('../main.js').Stores, wanted: Wanted, count: number, note?: string, onClose: () => void}} props */
export function ReplayDialog({ stores, wanted, count, note = '', onClose }) {
  const { rejects } = stores;
  const [to, setTo] = useState({ toPipeline: '', toTable: '' });
  const state = rejects.replay.value;
  useEffect(() => void stores.pipelineList.load(), []);
  const known = stores.pipelineList.list.value.value;
  const pipelines = ['svc_identity', ...(known ?? []).map((p) => p.name)];
  const tables = stores.tables.all.value.filter((t) => t.db === 'public').map((t) => t.name);
  const [pipeline, table] = [to.toPipeline.trim(), to.toTable.trim()];
  const unknown = [
    known && pipeline && !pipelines.includes(pipeline) && `There is no pipeline ${pipeline}, or you may not read it.`,
    stores.tables.latest.value.value && table && !tables.includes(table) && `There is no table ${table} in public yet. A replay makes it.`,
  ].filter(Boolean);
  const runs = state !== null && !state.end;
  useLayoutEffect(() => {
    rejects.replay.value = null;
    return () => rejects.cancel();
  }, []);
  const counted = (state?.reasons ?? []).reduce((sum, r) => sum + r.count, 0) >= (state?.failed ?? 0); // else they are of all records
  const tried = state?.end && state.dry && !state.error && state.stored > 0; // the trial shows that a replay does something
  const input = (/** @type {'toPipeline' | 'toTable'} */ name, /** @type {string} */ label, /** @type {string} */ placeholder) =>
    html`<label>${label}<input data-ui=${name === 'toTable' ? 'to-table' : 'to-pipeline'} list=${`replay-${name}`} autocomplete="off"
      spellcheck=${false} value=${to[name]} placeholder=${placeholder}
      onInput=${(/** @type {InputEvent} */ e) => setTo({ ...to, [name]: /** @type {HTMLInputElement} */ (e.currentTarget).value })} /></label>`;
  return html`<${Dialog} title=${`Replay ${formatCount(count)} ${count === 1 ? 'reject' : 'rejects'}`} onClose=${onClose}><div class="asks">
    <p>Each record is sent through its pipeline again. A record that was stored is not stored twice, however often it is replayed. The rejects stay in the list until they expire.</p>
    ${note && html`<p>${note}</p>`}
    ${input('toPipeline', 'Pipeline', 'the one that they were sent to')}${input('toTable', 'Table', 'the one that they were sent to')}
    <datalist id="replay-toPipeline">${pipelines.map((name) => html`<option value=${name}></option>`)}</datalist>
    <datalist id="replay-toTable">${tables.map((name) => html`<option value=${name}></option>`)}</datalist>
    ${unknown.map((text) => html`<p class="quiet" data-ui="replay-unknown">${text}</p>`)}
    ${
      state &&
      html`<p role="status" class=${state.failed > 0 ? 'wrong' : ''}>${replayWords(state)} ${state.error}</p>
      <div class="bar" style=${{ '--p': `${state.of > 0 ? (state.done / state.of) * 100 : 0}%` }}></div>
      ${groupReasons(state.reasons ?? [])
        .slice(0, 5)
        .map(({ reason, count: times }) => html`<p class="wrong">${counted && `${formatCount(times)} × `}${reason}</p>`)}`
    }
    <p class="acts"><button class=${`button ${tried ? '' : 'main'}`} data-ui="replay-try" disabled=${runs}
      onClick=${() => void rejects.send({ ...wanted, ...to }, true)}>Try it first</button>
      <button class=${`button ${tried ? 'main' : ''}`} data-ui="replay-now" disabled=${runs}
        onClick=${() => void rejects.send({ ...wanted, ...to }, false).then(() => rejects.load(wanted))}>Replay</button>
      ${runs && html`<button class="button" data-ui="cancel" onClick=${rejects.cancel}>Stop</button>`}
      <button class="button" onClick=${onClose}>Close</button></p></div><//>`;
}
