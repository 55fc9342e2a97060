// One pipeline: its text, its samples, every step of one of them, and what would be stored.

import { html, useEffect, useMemo, useRef, useState } from '../../vendor/core.js';
import { formatCount, formatDuration } from '../lib/format.js';
import { pipelineTarget } from '../lib/sqlquote.js';
import { formatPlace } from '../lib/url.js';
import { completePipeline } from '../lib/pipelinecomplete.js';
import { byLine, colourPipeline, stepsOf } from '../lib/yamltext.js';
import { toast } from '../stores/toast.js';
import { CodeEditor, goToLine } from './code.js';
import { Dialog } from './dialog.js';
import { useMay, useMayWrite } from './may.js';
import { Menu } from './menu.js';
import { failuresOf, Failures, Faults, marksOf, notesOf } from './pipelinefaults.js';
import { SaveDialog } from './savepipeline.js';
import { useNow } from './states.js';
import { Samples, StoredTables, Trace } from './trace.js';

/** @typedef {import('../stores/pipelines.js').PipelineInfo} PipelineInfo */

const pauseBeforeTest = 150;

/** @param {{stores: import('../main.js').Stores, info: PipelineInfo | undefined, onReplay: () => void}} props */
export function PipelineEditor({ stores, info, onReplay }) {
  const { pipelines, signIn, keys } = stores;
  const text = pipelines.draft.value;
  const samples = pipelines.samples.value;
  const [wanted, setChosen] = useState(0);
  const chosen = Math.min(wanted, Math.max(0, samples.length - 1));
  const [saves, setSaves] = useState(false);
  const mayWrite = useMayWrite(signIn, pipelines.name.value);
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const table = stores.place.here.value.params.get('t') ?? '';
  useEffect(() => {
    const timer = setTimeout(() => void pipelines.test(table, chosen), pauseBeforeTest);
    return () => clearTimeout(timer);
  }, [text, samples, table, Math.max(chosen, 9)]); // the steps of the first ten samples are always known
  useEffect(() => {
    const save = () => mayWrite && pipelines.changed.value && !pipelines.isEmpty.value && setSaves(true);
    return keys.bind({ 'ctrl+Enter': ['test now', () => void pipelines.test(table, chosen)], 'ctrl+s': ['save', save] });
  }, [keys, table, chosen, mayWrite]);

  useEffect(pipelines.loadHelps, [pipelines]);
  const helps = pipelines.helps.value.value;
  const fields = pipelines.knownFields.value;
  const complete = useMemo(() => {
    /** @type {import('./completion.js').Complete} */
    const found = (typed, caret) => (helps ? completePipeline(typed, caret, { ...helps, fields }) : null);
    return found;
  }, [helps, fields]);

  const answer = pipelines.dry.value.value;
  const faults = pipelines.faults.value;
  const steps = useMemo(() => stepsOf(text), [text]);
  const tested = samples.length > 0 && !pipelines.dry.error.value; // else the answer is of a text before
  const failures = useMemo(() => (tested ? failuresOf(answer?.records ?? [], steps) : []), [answer, steps, tested]);
  const [onlyChanges, setOnlyChanges] = useState(true);
  const plan = useMemo(() => steps, [answer]); // the steps of the text that was tested
  const results = pipelines.results.value;
  const record = results[chosen];
  const compare = (/** @type {string} */ t) =>
    stores.place.set('pipelines', { ...Object.fromEntries(stores.place.here.value.params), t }, {}, { replace: true });
  const chooser = html`<${TableChooser} tables=${stores.tables.all.value} chosen=${table} onChoose=${compare} />`;
  const toLine = (/** @type {number} */ line) => goToLine(area.current, line);
  return html`<${Title} stores=${stores} info=${info} mayWrite=${mayWrite} onSave=${() => setSaves(true)} onReplay=${onReplay} />
    ${pipelines.otherDraft.value && html`<${OtherDraft} pipelines=${pipelines} />`}
    <div class="pipe">
      <section class="pane" aria-label="Text"><div class="head"><h2>${pipelines.name.value}.yaml</h2><${Tested} stores=${stores} /><span class="grow"></span>
        ${
          mayWrite !== false &&
          !pipelines.dry.error.value &&
          html`<span class="quiet tab-hint"
          aria-hidden="true">Tab indents, <kbd>Esc</kbd> <kbd>Tab</kbd> leaves</span>`
        }</div>
        <${CodeEditor} label="Text of the pipeline" text=${text} lines=${useMemo(() => colourPipeline(text), [text])}
          marks=${samples.length > 0 ? marksOf(tested ? answer : null, steps) : undefined}
          faults=${byLine(faults)} failing=${new Set(failures.map((f) => f.line))} notes=${notesOf(faults, failures)} onText=${pipelines.write}
          complete=${complete} readOnly=${mayWrite === false} onReady=${(/** @type {HTMLTextAreaElement} */ element) => (area.current = element)} />
        <${Faults} stores=${stores} onLine=${toLine} /><${Failures} failures=${failures} of=${samples.length} onLine=${toLine} /></section>
      <section class="pane samplepane" aria-label="Samples" onDragOver=${(/** @type {DragEvent} */ e) => e.preventDefault()} onDrop=${(
        /** @type {DragEvent} */ e,
      ) => {
        e.preventDefault();
        void takeFile(pipelines, e.dataTransfer?.files);
      }}><div class="head"><h2>${formatCount(samples.length)} ${samples.length === 1 ? 'sample' : 'samples'}</h2><span class="grow"></span>
        <${SampleMenu} stores=${stores} onTable=${compare} /></div>
        ${
          samples.length === 0
            ? html`<p class="quiet none">Paste some lines or records, or drop a file: each step is shown for each sample. They stay in this browser.</p>`
            : html`<${Samples} samples=${samples} compared=${table !== ''} results=${results} chosen=${chosen} onChoose=${setChosen}
              onRemove=${(/** @type {number} */ at) => pipelines.setSamples(samples.filter((_, i) => i !== at))} />`
        }</section>
      <section class="pane" aria-label="Trace"><div class="head"><h2>Trace${record ? ` of sample ${chosen + 1}` : ''}</h2><span class="grow"></span>
        <label class="quiet only-changes">only changes<input type="checkbox" class="switch" data-ui="only-changes" checked=${onlyChanges}
          onChange=${() => setOnlyChanges(!onlyChanges)} /></label></div>
        <div class="scrolled">
          ${
            record
              ? html`<${Trace} record=${record} plan=${plan} onlyChanges=${onlyChanges} onLine=${toLine} />`
              : html`<p class="quiet none">
          ${samples.length === 0 ? 'There are no samples.' : 'No step was run.'}</p>`
          }</div></section>
      <section class="pane store" aria-label="What would be stored">
        ${
          answer && samples.length > 0
            ? html`<${StoredTables} answer=${answer} compared=${table !== ''}>${chooser}<//>`
            : html`<div class="head">
        <h2>What would be stored</h2><span class="grow"></span>${chooser}</div><p class="quiet none">The samples show it.</p>`
        }</section>
    </div>
    ${saves && html`<${SaveDialog} stores=${stores} info=${info} onClose=${() => setSaves(false)} />`}`;
}

/** @param {{stores: import('../main.js').Stores, info: PipelineInfo | undefined, mayWrite: boolean | null, onSave: () => void, onReplay: () => void}} props */
function Title({ stores, info, mayWrite, onSave, onReplay }) {
  const { pipelines, signIn } = stores;
  const name = pipelines.name.value;
  const version = pipelines.stored.value.value?.version;
  const newest = info?.version === version;
  const { count: rejected, targets } = pipelines.rejected.value.value ?? { count: 0, targets: [] };
  const mayReplay = useMay(
    signIn,
    targets.map((target) => ['DELETE', target]),
  )?.some(Boolean);
  return html`<div class="title"><a class="quiet" href="/dashboard/pipelines">Pipelines</a><span class="quiet">/</span><h1>${name}</h1>
    ${version && html`<span class="tag">${version.slice(0, 19)}${info && (newest ? `, newest of ${formatCount(info.versions.length)}` : ', not the newest')}</span>`}
    ${pipelines.changed.value && html`<span class="tag new">not saved${pipelines.draftOf.value && `, written for ${pipelines.draftOf.value.slice(0, 19)}`}</span>`}
    ${version && pipelines.changed.value && html`<button class="text go" data-ui="discard" onClick=${pipelines.discard}>Discard</button>`}<span class="grow"></span>
    ${
      info &&
      html`<a class="button" href=${formatPlace('pipelines', { name, view: 'versions' })}>Versions</a>
        <a class="button" href=${formatPlace('pipelines', { name, view: 'diff' })}>Diff</a>
      ${
        rejected > 0 && mayReplay
          ? html`<button class="button" data-ui="replay"
        onClick=${onReplay}>Replay ${formatCount(rejected)} ${rejected === 1 ? 'reject' : 'rejects'}…</button>`
          : html`<a class="button wide"
        href=${formatPlace('rejects', { pipeline: name })}>Rejects</a>`
      }`
    }
    ${
      mayWrite === false &&
      html`<span class="quiet" data-ui="may-not-write"
      title=${`Saving needs the privilege WRITE on ${pipelineTarget(name)}`}>You may not change it</span>`
    }
    ${
      mayWrite &&
      html`<button class="button main" data-ui="save" disabled=${!pipelines.changed.value || pipelines.isEmpty.value}
      onClick=${onSave}>Save as new version</button>`
    }</div>`;
}

/** Says that another tab has a text that is not saved. Who has one here too does not lose it by a click. @param {{pipelines: import('../main.js').Stores['pipelines']}} props */
function OtherDraft({ pipelines }) {
  return html`<div class="banner" data-ui="other-draft" role="status"><span>Another tab has, or had, a text of this pipeline that is not saved.</span>
    ${!pipelines.changed.value && html`<button class="text go" data-ui="take-draft" onClick=${pipelines.takeOther}>Go on with it here</button>`}
      <button class="text go" data-ui="drop-draft" onClick=${pipelines.dropOther}>Forget it</button></div>`;
}

/** With which table the rows are compared. @param {{tables: {db: string, name: string}[], chosen: string, onChoose: (table: string) => void}} props */
function TableChooser({ tables, chosen, onChoose }) {
  const names = tables.filter((t) => t.db === 'public').map((t) => t.name);
  const all = chosen && !names.includes(chosen) ? [chosen, ...names] : names;
  return html`<label class="quiet compare-with">Compare with<select data-ui="compare-table" value=${chosen}
    onChange=${(/** @type {Event} */ e) => onChoose(/** @type {HTMLSelectElement} */ (e.currentTarget).value)}>
    <option value="">no table</option>${all.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`;
}

/** @param {{stores: import('../main.js').Stores}} props */
function Tested({ stores }) {
  const { dry, tested } = stores.pipelines;
  const now = useNow(1000);
  if (dry.since.value > 0 && now - dry.since.value > 500) return html`<span class="quiet">testing…</span>`;
  if (dry.error.value)
    return html`<span class="wrong">cannot be built${dry.value.value && stores.pipelines.samples.value.length > 0 && '; the results are of the text before'}</span>`;
  if (stores.pipelines.isEmpty.value) return html`<span class="quiet">the text is empty</span>`;
  if (!dry.value.value) return null;
  const ago = now - tested.value;
  const did = stores.pipelines.samples.value.length > 0 ? 'tested' : 'checked';
  return html`<span class="quiet" role="status">
    ${did} ${ago < 1000 ? 'just now' : `${formatDuration(ago)} ago`}, in ${formatDuration(dry.value.value.execution_time_ms)}</span>`;
}

const mostRead = 1 << 20; // of a file

/**
 * Takes the first lines of a file as samples.
 * @param {import('../main.js').Stores['pipelines']} pipelines
 * @param {FileList | null | undefined} files
 */
async function takeFile(pipelines, files) {
  const text = await files?.[0]?.slice(0, mostRead).text();
  if (text) pipelines.setSamples(text.split(/\r?\n/).slice(0, files && files[0].size > mostRead ? -1 : undefined));
}

/** @param {{stores: import('../main.js').Stores, onTable: (table: string) => void}} props onTable: the samples are for this table */
function SampleMenu({ stores, onTable }) {
  const { pipelines, tables } = stores;
  const [pastes, setPastes] = useState(false);
  const [lines, setLines] = useState('');
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const take = (/** @type {Promise<string>} */ asked) => asked.then((says) => says && toast(says));
  return html`<${Menu} button=${html`<span>From…</span>`} label="Take samples from" class="text change">${(/** @type {() => void} */ close) => html`
      <button class="choice" onClick=${() => (close(), take(pipelines.samplesFromRejects(onTable)))}>Rejected records of this pipeline</button>
      ${tables.all.value
        .filter((t) => t.db !== 'svc_private')
        .slice(0, 50)
        .map(
          (t) =>
            html`<button class="choice" onClick=${() => (close(), take(pipelines.samplesFromTable(t.db, t.name)))}><span>Newest rows of ${t.name}</span></button>`,
        )}`}<//>
    <button class="text" title="Takes the first 100 lines" data-ui="pick-file" onClick=${() => picker.current?.click()}>File</button>
    <input ref=${picker} class="hidden" type="file" tabindex="-1" aria-label="File of samples" data-ui="samples-file" onChange=${(/** @type {Event} */ e) => {
      const input = /** @type {HTMLInputElement} */ (e.currentTarget);
      void takeFile(pipelines, input.files);
      input.value = ''; // the same file can be chosen again
    }} />
    <button class="text" data-ui="paste" onClick=${() => (setLines(pipelines.samples.value.join('\n')), setPastes(true))}>Paste</button>
    ${
      pastes &&
      html`<${Dialog} title="Samples, one on each line" onClose=${() => setPastes(false)}><form class="asks" onSubmit=${(/** @type {Event} */ e) => {
        e.preventDefault();
        pipelines.setSamples(lines.split('\n'));
        setPastes(false);
      }}><p class="quiet">Lines of a log, or objects of JSON; at most 100.</p>
        <textarea class="paste" data-ui="samples-text" aria-label="Samples" rows="12" value=${lines}
          onInput=${(/** @type {InputEvent} */ e) => setLines(/** @type {HTMLTextAreaElement} */ (e.currentTarget).value)}></textarea>
        <p class="acts"><button class="button main" data-ui="take-samples">Take them</button>
          <button type="button" class="button" onClick=${() => setPastes(false)}>Cancel</button></p></form><//>`
    }`;
}
