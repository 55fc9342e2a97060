// The dialog that stores a text as a new version: the changes, the results for the samples, and a note.

import { html, useEffect, useState } from '../../vendor/core.js';
import { formatCount } from '../lib/format.js';
import { toast } from '../stores/toast.js';
import { Dialog } from './dialog.js';
import { DiffView } from './diffview.js';
import { Faults } from './pipelinefaults.js';
import { ErrorPanel } from './states.js';

/** @param {{stores: import('../main.js').Stores, info: import('../stores/pipelines.js').PipelineInfo | undefined, onClose: () => void}} props */
export function SaveDialog({ stores, info, onClose }) {
  const { pipelines, place } = stores;
  const [note, setNote] = useState(pipelines.proposed.value);
  const answer = pipelines.dry.value.value;
  const before = pipelines.stored.value.value;
  useEffect(() => {
    pipelines.saving.error.value = null;
  }, []);
  const name = pipelines.name.value;

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    if (pipelines.saving.since.value > 0 || !(await pipelines.save(note.trim()))) return;
    onClose();
    toast(`Stored a new version of ${name}.`);
    place.set('pipelines', { name, t: place.here.value.params.get('t') ?? '' }, {}, { replace: true });
    await pipelines.open(name, '');
  }

  const failed = answer?.records.filter((r) => r.outcome === 'failed').length ?? 0;
  const refused = pipelines.dry.error.value?.status === 400;
  const conflict = pipelines.saving.error.value?.status === 412;
  return html`<${Dialog} title=${`Save ${name}`} class="broad" onClose=${onClose}><form class="asks" onSubmit=${submit}>
    <p class=${failed > 0 || refused ? 'wrong' : 'quiet'}>${
      pipelines.dry.error.value
        ? refused
          ? 'The server refuses this text, so it cannot be saved.'
          : 'It was not tried: the server does not answer.'
        : answer && answer.records.length > 0
          ? answer.records.length === 1
            ? `The sample ${failed > 0 ? 'fails' : 'is good'}.`
            : `Of ${formatCount(answer.records.length)} samples ${formatCount(answer.records.length - failed)} are good, ${formatCount(failed)} fail.`
          : 'It was not tried on samples.'
    }</p>
    ${refused && html`<${Faults} stores=${stores} />`}
    ${
      conflict &&
      html`<p class="wrong" role="alert">A newer version was stored meanwhile. <button type="button" class="text go" data-ui="rebase"
      onClick=${pipelines.rebase}>Compare with it</button> Then you can save this text after it, or <button type="button" class="text go"
      onClick=${() => void pipelines.load().then(onClose)}>close</button> and change it first.</p>`
    }
    ${before ? html`<${DiffView} before=${before.pipeline} after=${pipelines.draft.value} />` : html`<p>The first version of ${name}.</p>`}
    <label>Note<input data-ui="note" autofocus maxlength="200" placeholder="What changes, and why" value=${note}
      onInput=${(/** @type {InputEvent} */ e) => setNote(/** @type {HTMLInputElement} */ (e.currentTarget).value)} /></label>
    ${!conflict && html`<${ErrorPanel} latest=${pipelines.saving} what="Saving" inForm />`}
    <p class="acts"><button class="button main" data-ui="save-now" disabled=${pipelines.saving.since.value > 0 || conflict || refused}>
      ${info ? 'Save as new version' : 'Save'}</button><button type="button" class="button" onClick=${onClose}>Cancel</button></p></form><//>`;
}
