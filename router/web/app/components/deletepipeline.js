// The dialog that deletes a version of a pipeline, or all of them.

import { html, useState } from '../../vendor/core.js';
import { formatCount } from '../lib/format.js';
import { toast } from '../stores/toast.js';
import { Confirm } from './dialog.js';
import { ErrorPanel } from './states.js';

/**
 * @param {object} props
 * @param {import('../main.js').Stores} props.stores
 * @param {string} props.name
 * @param {string[]} props.versions what is deleted, the newest first
 * @param {import('../stores/pipelines.js').Version[]} props.known all versions, the newest first
 * @param {() => void} props.onClose
 */
export function DeletePipeline({ stores, name, versions, known, onClose }) {
  const [of] = useState(known); // as they were when the dialog was opened
  const { pipelines, place } = stores;
  const all = versions.length === of.length;
  const [version] = versions;
  const says = all
    ? `${of.length === 1 ? 'Its only version is' : `All ${formatCount(of.length)} versions are`} deleted. From then on, the server refuses requests that name this pipeline.`
    : version === of[0].version
      ? `It is the newest version. Requests that name no version then use the one of ${of[1].version.slice(0, 23)}.`
      : 'The server then refuses requests that name this version.';

  async function run() {
    if (!(await pipelines.remove(name, versions))) return;
    onClose();
    toast(all ? `Deleted ${name}.` : `Deleted the version ${version.slice(0, 23)}.`);
    if (all) {
      pipelines.forget(name);
      place.set('pipelines', {}, {}, { replace: true });
    } else place.set('pipelines', { name, view: 'versions' }, {}, { replace: true });
  }

  function close() {
    pipelines.deleting.error.value = null;
    onClose();
  }

  const what = all ? `Delete ${name}` : `Delete the version ${version.slice(0, 23)}`;
  return html`<${Confirm}
    title=${what}
    word=${all ? name : ''}
    action=${all ? what : 'Delete it'}
    busy=${pipelines.deleting.since.value > 0}
    onYes=${run}
    onClose=${close}
  >
    <p>${says} This cannot be undone.</p>
    <${ErrorPanel} latest=${pipelines.deleting} what="Deleting" inForm
  /><//>`;
}
