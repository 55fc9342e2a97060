// Pipelines: all of them, or one: its text, its samples, every step of one sample, and what would be stored.

import { html, useEffect, useLayoutEffect, useState } from '../../vendor/core.js';
import { useIgnored } from '../components/ignored.js';
import { PipelineEditor } from '../components/pipeline.js';
import { useMayWrite } from '../components/may.js';
import { TryOut } from '../components/trypattern.js';
import { NewPipeline, Versions } from '../components/versions.js';
import { Empty, ErrorPanel, Progress } from '../components/states.js';
import { formatBytes, formatCount } from '../lib/format.js';
import { formatPlace, unknownParts } from '../lib/url.js';
import { clock, createLatest } from '../stores/latest.js';
import { ReplayDialog } from './rejects.js';

const parameters = { name: null, version: null, with: null, t: null, view: (/** @type {string} */ text) => ['new', 'try', 'versions', 'diff'].includes(text) };

/** @param {{stores: import('../main.js').Stores}} props */
export function PipelinesPage({ stores }) {
  const { pipelines, place } = stores;
  const params = place.here.value.params;
  const [name, version, view] = [params.get('name') ?? '', params.get('version') ?? '', params.get('view') ?? ''];
  useEffect(() => {
    document.title = name ? `${name} · pipelines · cordwood` : 'Pipelines · cordwood';
  }, [name]);
  useEffect(() => void pipelines.load(), [pipelines]);
  useIgnored(place.page.value === 'pipelines' ? unknownParts(params, parameters) : []);
  const known = pipelines.list.value.value;
  const isNew = view === 'new';
  const [replays, setReplays] = useState(false);
  // Before the reader can click: what is done to a pipeline must not be done to the one that was open before.
  useLayoutEffect(() => {
    if (!name) return;
    if (isNew) {
      pipelines.resume(name);
      return;
    }
    if (pipelines.name.value === name && pipelines.changed.value && !version) return pipelines.openSamples(name); // a text that is not saved stays
    void pipelines.open(name, version);
  }, [name, version, isNew]);
  useEffect(() => {
    if (name && !isNew) void pipelines.countRejected(name);
  }, [name, isNew]);

  if (!name && view === 'try') return html`<${TryOut} stores=${stores} />`;
  if (!name && isNew) return html`<${NewPipeline} stores=${stores} />`;
  if (!name) return html`<${PipelineList} stores=${stores} />`;
  const info = known?.find((p) => p.name === name);
  if (known && !info && !isNew && (view === 'versions' || view === 'diff')) {
    return html`<${Empty} title=${`There is no pipeline ${name}, or you may not read it.`}><p class="acts">
      <a class="button" href="/dashboard/pipelines">All pipelines</a></p><//>`;
  }
  if (view === 'versions' || view === 'diff') return html`<${Versions} stores=${stores} info=${info} diff=${view === 'diff'} />`;
  if (pipelines.stored.error.value && !isNew) {
    return html`<h1 class="hidden">${name}</h1><${ErrorPanel} latest=${pipelines.stored} what=${`Reading the pipeline ${name}`} />`;
  }
  return html`<${Progress} since=${pipelines.stored.since.value} onCancel=${pipelines.stored.cancel} />
    <${PipelineEditor} stores=${stores} info=${info} onReplay=${() => setReplays(true)} />
    ${
      replays &&
      html`<${ReplayDialog} stores=${stores} wanted=${{ pipeline: name, table: '', kind: '', from: '', to: '' }} count=${pipelines.rejected.value.value?.count ?? 0}
        note=${pipelines.changed.value ? 'Your text is not saved: the records go through the version that is stored.' : ''} onClose=${() => {
          setReplays(false);
          void pipelines.countRejected(name);
        }} />`
    }`;
}

/** @param {{stores: import('../main.js').Stores}} props */
function PipelineList({ stores }) {
  const { pipelines, signIn } = stores;
  const list = pipelines.list.value.value;
  const [rejects] = useState(() => /** @type {import('../stores/latest.js').Latest<Map<string, number>>} */ (createLatest(clock)));
  useEffect(() => {
    void rejects.run((signal) => stores.rejectCount.countByPipeline(signal));
  }, []);
  const counts = rejects.value.value;
  const mayWrite = useMayWrite(signIn, '');
  return html`<div class="scrolled"><div class="state"><h1>Pipelines</h1>
    <span class="quiet">Pipelines turn records into rows. Each change is a new version.</span><span class="grow"></span><div class="offers">
    <a class="button" data-ui="try" href="/dashboard/pipelines?view=try">Try a pattern</a>
      ${mayWrite && html`<a class="button main" data-ui="new-pipeline" href="/dashboard/pipelines?view=new">New pipeline</a>`}</div></div>
    <${ErrorPanel} latest=${pipelines.list} what="Asking for the pipelines" />
    ${
      list?.length === 0 &&
      html`<${Empty} title=${mayWrite === false ? 'There is no pipeline that you may read.' : 'You have no pipelines yet.'}>
        <p>Records are stored unchanged by <b class="mono">svc_identity</b>, which needs none.</p><//>`
    }
    ${
      list &&
      list.length > 0 &&
      html`<div class="wide-table listed"><table><thead><tr><th>name</th><th>newest version, UTC</th><th class="opt">by</th><th class="opt">note</th>
        <th class="r opt">versions</th><th class="r opt">size</th><th class="r">rejects of 24 h</th></tr></thead>
      <tbody>${list.map(
        (p) => html`<tr data-ui="pipeline"><td><a class="go" href=${formatPlace('pipelines', { name: p.name })}>${p.name}</a></td><td>
          ${p.version.slice(0, 19)}</td><td class="opt">${p.by ?? ''}</td>
          <td class="samples opt">${p.note ?? ''}</td><td class="r opt">${formatCount(p.versions.length)}</td><td class="r opt">
            ${formatBytes(p.versions[0]?.size ?? 0)}</td>
          <td class="r">
            ${
              counts?.get(p.name)
                ? html`<a class="bad" href=${formatPlace('rejects', { pipeline: p.name })}>
            ${formatCount(counts.get(p.name) ?? 0)}</a>`
                : counts
                  ? '0'
                  : ''
            }</td></tr>`,
      )}</tbody></table></div>`
    }</div>`;
}
