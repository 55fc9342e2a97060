// The versions of a pipeline, how two of them differ, and a new pipeline.

import { html, useEffect, useState } from '../../vendor/core.js';
import { formatBytes, formatCount } from '../lib/format.js';
import { pipelineTarget } from '../lib/sqlquote.js';
import { templates } from '../lib/templates.js';
import { formatPlace } from '../lib/url.js';
import { clock, createLatest } from '../stores/latest.js';
import { DeletePipeline } from './deletepipeline.js';
import { DiffView } from './diffview.js';
import { useMayWrite } from './may.js';
import { Empty, ErrorPanel, Progress } from './states.js';

/** @typedef {import('../stores/pipelines.js').PipelineInfo} PipelineInfo */

/** @param {{stores: import('../main.js').Stores, info: PipelineInfo | undefined, diff: boolean}} props */
export function Versions({ stores, info, diff }) {
  const { pipelines, place, signIn } = stores;
  const [texts] = useState(() => /** @type {import('../stores/latest.js').Latest<[string, string]>} */ (createLatest(clock)));
  const params = place.here.value.params;
  const name = params.get('name') ?? '';
  const mayWrite = useMayWrite(signIn, name);
  const versions = info?.versions ?? [];
  const [deletes, setDeletes] = useState(/** @type {string[]} */ ([]));
  const after = params.get('version') || versions[0]?.version || '';
  const at = versions.findIndex((v) => v.version === after);
  const before = params.get('with') ?? versions[at + 1]?.version ?? ''; // empty: this is the first version
  useEffect(() => {
    if (!after) return;
    void texts.run(
      async (signal) => {
        const [a, b] = await Promise.all([before, after].map((version) => version && pipelines.readVersion(name, version, signal)));
        return [a ? a.pipeline : '', b ? b.pipeline : ''];
      },
      JSON.stringify([name, before, after]),
    );
  }, [name, before, after]);

  const set = (/** @type {Record<string, string>} */ change) => place.set('pipelines', { name, view: 'diff', version: after, with: before, ...change });
  /** Opens an old text as one that is not saved: saving makes a new version of it. */
  async function restore() {
    const old = await pipelines.readVersion(name, after);
    await pipelines.open(name, '');
    pipelines.write(old.pipeline);
    pipelines.proposed.value = `Restored the version of ${after.slice(0, 19)}`;
    place.set('pipelines', { name });
  }

  const pair = texts.value.value;
  return html`<div class="title"><a class="quiet" href="/dashboard/pipelines">Pipelines</a><span class="quiet">/</span><h1>
    <a href=${formatPlace('pipelines', { name })}>${name}</a></h1><span class="quiet">
    ${formatCount(versions.length)} ${versions.length === 1 ? 'version' : 'versions'}</span><span class="grow"></span>
      ${
        mayWrite &&
        versions.length > 0 &&
        html`<button class="button" data-ui="delete-pipeline"
        onClick=${() => setDeletes(versions.map((v) => v.version))}>Delete…</button>`
      }
      ${mayWrite && after !== versions[0]?.version && html`<button class="button" data-ui="restore" onClick=${restore}>Restore ${after.slice(0, 23)}</button>`}
      <a class="button" href=${formatPlace('pipelines', { name })}>Back to the text</a></div>
    <${Progress} since=${texts.since.value} onCancel=${texts.cancel} />
    <div class=${`versions ${diff ? 'with-diff' : ''}`}>
      <section class="pane" aria-label="Versions"><div class="head"><h2>Versions</h2><span class="quiet">times are in UTC</span></div>
        <ul class="ops">${versions.map(
          (v, i) => html`<li data-ui="version" class=${v.version === after ? 'on' : ''}><h3>
            <button class="text" onClick=${() => set({ version: v.version, with: '' })}>${v.version.slice(0, 23)}${i === 0 ? ', newest' : ''}</button></h3>
            <p>${v.note ?? ''}${v.note ? ' · ' : ''}${v.by ? `by ${v.by} · ` : ''}
              ${formatBytes(v.size)} · <button class="text go" aria-label=${`compare with this, ${v.version.slice(0, 23)}`}
              onClick=${() => set({ with: v.version })}>compare with this</button>
              ${
                mayWrite &&
                versions.length > 1 &&
                html` · <button class="text go" data-ui="delete-version"
                aria-label=${`delete the version ${v.version.slice(0, 23)}`} onClick=${() => setDeletes([v.version])}>delete</button>`
              }</p></li>`,
        )}</ul></section>
      <section class="pane" aria-label="Difference"><div class="head"><h2>
        ${before ? `${before.slice(0, 23)} → ${after.slice(0, 23)}` : `The first version, ${after.slice(0, 23)}`}</h2></div>
        <${ErrorPanel} latest=${texts} what="Reading the versions" />
        ${pair && html`<div class="scrolled"><${DiffView} before=${pair[0]} after=${pair[1]} /></div>`}</section></div>
    ${deletes.length > 0 && html`<${DeletePipeline} stores=${stores} name=${name} versions=${deletes} known=${versions} onClose=${() => setDeletes([])} />`}`;
}

/** Asks for the name of a new pipeline and what it begins with. @param {{stores: import('../main.js').Stores}} props */
export function NewPipeline({ stores }) {
  const { pipelines, place, signIn } = stores;
  const [name, setName] = useState('');
  const [refused, setRefused] = useState(''); // a name under which the user may not store a pipeline
  const mayAny = useMayWrite(signIn, '');
  const [template, setTemplate] = useState(0);
  const taken = pipelines.list.value.value?.some((p) => p.name === name);
  const wrong = taken
    ? 'A pipeline has this name.'
    : name.startsWith('svc_')
      ? 'Names that begin with svc_ belong to the server.'
      : name && name === refused
        ? `You may not store a pipeline of this name. An administrator can allow it with GRANT WRITE ON ${pipelineTarget(name)}.`
        : '';
  const begun = !wrong && pipelines.isBegun(name);

  /** @param {Event} event */
  async function begin(event) {
    event.preventDefault();
    if (wrong || !name) return;
    if (!(await signIn.may(['WRITE', pipelineTarget(name)]))) {
      setRefused(name);
      return;
    }
    const { text, sample } = templates[template];
    pipelines.begin(name, text, [sample]);
    place.set('pipelines', { name, view: 'new' }, {}, { replace: true });
  }

  if (mayAny === false) {
    return html`<h1 class="hidden">New pipeline</h1><${Empty} title="You may not store pipelines.">
      <p>It needs the privilege WRITE on a pipeline. An administrator can grant it.</p>
      <p class="acts"><a class="button" href="/dashboard/pipelines">All pipelines</a></p><//>`;
  }
  return html`<div class="scrolled"><div class="state"><h1>New pipeline</h1></div>
    <form class="asks begin" onSubmit=${begin}>
      <label>Name<input data-ui="new-name" required pattern="[A-Za-z0-9_.:\\-]{1,128}" value=${name}
        onInput=${(/** @type {InputEvent} */ e) => setName(/** @type {HTMLInputElement} */ (e.currentTarget).value)} /></label>
      ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
      ${
        begun &&
        html`<p data-ui="begun" role="status">This browser keeps a text for ${name} that was never saved. <a class="text go" data-ui="go-on"
        href=${formatPlace('pipelines', { name, view: 'new' })}>Go on with it</a></p>`
      }
      <fieldset><legend>Begin with</legend>${templates.map(
        (t, i) =>
          html`<label class="template"><input type="radio" name="template" checked=${i === template} onChange=${() => setTemplate(i)} /><span>
            ${t.name}<code>${t.sample}</code></span></label>`,
      )}</fieldset>
      <p class="acts"><button class=${`button ${begun ? '' : 'main'}`} data-ui="begin">${begun ? 'Replace it' : 'Begin'}</button>
        <a class="button" href="/dashboard/pipelines">Cancel</a></p></form></div>`;
}
