// The dialogs that begin an operation of the cluster.

import { html, useEffect, useLayoutEffect, useState } from '../../vendor/core.js';
import { addNode, secretFile } from '../lib/addnode.js';
import { clusterActs } from '../lib/clusteracts.js';
import { formatBytes } from '../lib/format.js';
import { clock, createLatest } from '../stores/latest.js';
import { toast } from '../stores/toast.js';
import { Confirm, Dialog } from './dialog.js';
import { ErrorPanel } from './states.js';
import { copyText } from './copy.js';

/**
 * @param {object} props
 * @param {string} props.id
 * @param {Record<string, string>} props.given values that are chosen already
 * @param {any} props.state of /v1/cluster
 * @param {import('../main.js').Stores} props.stores
 * @param {() => void} props.onClose
 */
export function ClusterAct({ id, given, state, stores, onClose }) {
  const { operations, health, tables } = stores;
  const act = /** @type {import('../lib/clusteracts.js').ClusterAct} */ (clusterActs.find((a) => a.id === id));
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({ count: '1', replicas: String(state.replication), partitions: '2', ...given }));
  useLayoutEffect(() => operations.clear(), []); // before anybody can begin
  const asks = operations.asks.value;
  const answer = operations.start.value.value;
  const wanted = asks || act.word(values);

  async function begin() {
    if (operations.start.since.value > 0) return;
    const request = act.request(values);
    if (!(await operations.begin(asks ? { ...request, confirm: asks } : request))) return;
    toast(operations.start.value.value?.message || 'The operation has started.');
    onClose();
    await health.load();
  }

  const set = (/** @type {string} */ name) => (/** @type {string} */ value) => setValues({ ...values, [name]: value });
  return html`<${Confirm} key=${asks} title=${act.name.replace('…', '')} word=${wanted} action="Begin" busy=${operations.start.since.value > 0}
    onYes=${begin} onClose=${onClose}>
    <p>${act.says}</p>
    ${act.asks.map(
      (asked) =>
        html`<label class=${asked.kind === 'check' ? 'check' : ''}>${asked.kind !== 'check' && asked.label}
          <${Input} asked=${asked} value=${values[asked.name] ?? ''} state=${state} tables=${tables.all.value} onValue=${set(asked.name)} />
          ${asked.kind === 'check' && asked.label}</label>`,
    )}
    <${Size} values=${values} state=${state} tables=${tables.all.value} />
    ${asks && answer?.message && html`<p class="wrong" role="alert">${answer.message}</p>`}
    <${ErrorPanel} latest=${operations.start} what="Beginning it" inForm /><//>`;
}

/** How much the operation has to copy, as far as is known. @param {{values: Record<string, string>, state: any, tables: {db: string, name: string, bytes: number}[]}} props */
function Size({ values, state, tables }) {
  const node = state.nodes.find((/** @type {any} */ n) => n.name === (values.shard ? '' : values.node));
  const shard = state.shards.find((/** @type {any} */ s) => String(s.id) === values.shard);
  const table = tables.find((t) => `${t.db}.${t.name}` === values.table);
  const text = shard
    ? `Shard ${shard.id} has rows of ${formatBytes(shard.bytes)}.`
    : node
      ? `${node.name} has ${node.replicas} ${node.replicas === 1 ? 'replica' : 'replicas'} with ${formatBytes(node.bytes)}, and leads ${node.leads} ${node.leads === 1 ? 'shard' : 'shards'}.`
      : table
        ? `${values.table} has ${formatBytes(table.bytes)}.`
        : '';
  return text && html`<p class="quiet">${text}</p>`;
}

/** @param {{asked: import('../lib/clusteracts.js').Asked, value: string, state: any, tables: {db: string, name: string}[], onValue: (value: string) => void}} props */
function Input({ asked, value, state, tables, onValue }) {
  const take = (/** @type {Event} */ e) => onValue(/** @type {HTMLInputElement} */ (e.currentTarget).value);
  const ui = `act-${asked.name}`;
  if (asked.kind === 'check')
    return html`<input type="checkbox" data-ui=${ui} checked=${value === 'yes'} onChange=${() => onValue(value === 'yes' ? '' : 'yes')} />`;
  if (asked.kind === 'number') return html`<input type="number" data-ui=${ui} required min="1" max="64" value=${value} onInput=${take} />`;
  if (asked.kind === 'shards')
    return html`<input required data-ui=${ui} placeholder=${asked.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${value} onInput=${take} />`;
  const choices = {
    node: () => state.nodes.map((/** @type {any} */ n) => n.name),
    shard: () => state.shards.map((/** @type {any} */ s) => String(s.id)),
    table: () => tables.filter((t) => t.db !== 'svc_private').map((t) => `${t.db}.${t.name}`),
  }[asked.kind]();
  return html`<select required data-ui=${ui} value=${value} onChange=${take}><option value="">Choose</option>
    ${choices.map((/** @type {string} */ c) => html`<option value=${c}>${c}</option>`)}</select>`;
}

/** How a node is added: the command, and a check that it joined. @param {{state: any, stores: import('../main.js').Stores, onClose: () => void}} props */
export function AddNode({ state, stores, onClose }) {
  const [before] = useState(() => new Set(state.nodes.map((/** @type {any} */ n) => n.id)));
  const [config] = useState(() => /** @type {import('../stores/latest.js').Latest<string>} */ (createLatest(clock)));
  useEffect(() => {
    void config.run(async (signal) => (await stores.api.send({ path: '/config', signal, need: ['MONITOR', 'CLUSTER'] })).text());
  }, []);
  const joined = state.nodes.filter((/** @type {any} */ n) => !before.has(n.id));
  const old = state.nodes.filter((/** @type {any} */ n) => before.has(n.id));
  const auth = stores.signIn.session.value?.auth !== 'off';
  const { command, files, local } = addNode({ nodes: old, auth, config: config.value.value ?? '' });
  const known = config.value.value !== null;
  return html`<${Dialog} title="Add a node" onClose=${onClose}><div class="asks">
    <p>Start cordwood on another machine. Replace NAME with its own name, and ADDRESS with the address at which the other nodes reach it.
      The machine needs ${files.map(
        (file, i) => html`${i > 0 && (i < files.length - 1 ? ', ' : ' and ')}
        ${file === secretFile && 'the secret of the cluster as '}<code>${file}</code>`,
      )}.</p>
    ${
      local &&
      html`<p class="wrong"
      data-ui="seeds-local">Other machines cannot reach ${local}. Start the new node on this machine with other ports, or restart these nodes with an address of the network first (--rpc-addr).</p>`
    }
    ${
      !known &&
      config.error.value &&
      html`<p class="wrong"
      data-ui="settings-unknown">The settings of this node are not known: ${config.error.value.message} Start the new node with the same flags for users, TLS and object storage as these nodes.</p>`
    }
    <pre class="asked" data-ui="add-node-command">${command}</pre>
    ${auth && html`<p>Users have their rights on the new node only with <code>--auth=on</code>: without it, everybody who reaches its port may do everything.</p>`}
    <p role="status" data-ui="joined">
      ${joined.length === 0 ? html`<span class="dot waiting"></span> Waiting for it to join…` : `${joined.map((/** @type {any} */ n) => n.name).join(', ')} joined.`}</p>
    <p class="acts"><button class="button main" disabled=${!known && !config.error.value} onClick=${() => copyText(command)}>Copy</button>
      <button class="button" onClick=${onClose}>Close</button></p></div><//>`;
}

/** What a rebalance would do, and doing it. @param {{stores: import('../main.js').Stores, onClose: () => void}} props */
export function Rebalance({ stores, onClose }) {
  const { operations, health } = stores;
  useLayoutEffect(() => {
    operations.clear();
    void operations.loadPlan();
  }, []);
  const plan = operations.plan.value.value;

  /** @param {string} kind */
  async function begin(kind) {
    if (operations.start.since.value > 0) return;
    if (!(await operations.begin({ kind }))) return;
    toast(operations.start.value.value?.message || 'Started.');
    await health.load();
    onClose();
  }

  return html`<${Dialog} title="Rebalance" onClose=${onClose}><div class="asks">
    <${ErrorPanel} latest=${operations.plan} what="Asking for the plan" />
    ${!plan && !operations.plan.error.value && html`<p class="quiet" role="status">Asking what would move…</p>`}
    ${plan && plan.moves.length === 0 && html`<p>Nothing would move: ${(plan.even || 'the nodes are even').replace(/\.$/, '')}.</p>`}
    ${
      plan &&
      plan.moves.length > 0 &&
      html`<p>${plan.moves.length} ${plan.moves.length === 1 ? 'replica' : 'replicas'} would move, ${formatBytes(plan.moves.reduce((sum, m) => sum + m.bytes, 0))}.</p>
      <div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${plan.moves.map(
        (m) => html`<tr><td>${m.shard}</td><td>${m.from}</td><td>${m.to}</td><td class="r">${formatBytes(m.bytes)}</td><td>${m.reason}</td></tr>`,
      )}</tbody></table></div>`
    }
    ${plan?.blocked.map((text) => html`<p class="wrong">${text}</p>`)}
    <${ErrorPanel} latest=${operations.start} what="Beginning it" />
    <p class="acts"><button class="button main" data-ui="confirm" disabled=${!plan || plan.moves.length === 0} onClick=${() => begin('rebalance')}>Begin</button>
      ${
        plan &&
        html`<button class="button" data-ui="pause" onClick=${() => begin(plan.paused ? 'rebalance-resume' : 'rebalance-pause')}>
        ${plan.paused ? 'Resume it' : 'Pause it'}</button>`
      }
      <button class="button" onClick=${onClose}>Close</button></p></div><//>`;
}
