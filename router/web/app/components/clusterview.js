// The nodes of a cluster, and which of them has a replica of which shard.

import { html } from '../../vendor/core.js';
import { lookOf, shortNames } from '../lib/clusterwords.js';
import { formatBytes, formatCount, formatDuration } from '../lib/format.js';
import { Menu } from './menu.js';

/** @typedef {(id: string, given?: Record<string, string>) => void} Do */

/** @param {{nodes: any[]}} props */
export function Nodes({ nodes }) {
  return html`<div class="wide-table" tabindex="0" role="region" aria-label="Nodes"><table><thead><tr><th>node</th><th>state</th>
    <th class="opt">roles</th><th class="opt">metadata</th><th>disk used</th><th class="r opt">disk size</th><th class="r">replicas</th>
    <th class="r">leads</th><th class="r opt" title="The rows of its replicas, and their logs">rows and logs</th><th class="opt">version</th></tr></thead>
    <tbody>${nodes.map((n) => html`<${NodeRow} key=${n.id} node=${n} />`)}</tbody></table></div>`;
}

const silent = ['down', 'silent', 'stopped']; // states of nodes that do not report
const unknown = 'unknown'; // state of what this node knows only from the metadata
const nearlyFull = 85; // per cent, as the server warns

/** @param {{node: any}} props */
function NodeRow({ node }) {
  const share = node.disk_capacity > 0 ? (node.disk_used / node.disk_capacity) * 100 : 0;
  const since = silent.includes(node.state) && ` for ${formatDuration(node.silent_seconds * 1000)}`;
  return html`<tr data-ui="node"><td>${node.name}</td>
    <td><span class=${lookOf(node.state)}>${node.state}</span>${since}</td>
    <td class="opt">${node.roles.join(' ')}</td><td class="opt">${node.meta}</td>
    <td>${
      node.disk_capacity > 0 &&
      html`<span class=${`disk ${share > nearlyFull ? 'full' : ''}`} style=${{ '--p': `${share.toFixed(0)}%` }}></span>
        <span title=${`${formatBytes(node.disk_used)} of ${formatBytes(node.disk_capacity)}`}>${share.toFixed(0)} %</span>`
    }</td>
    <td class="r opt">${node.disk_capacity > 0 && formatBytes(node.disk_capacity)}</td><td class="r">${formatCount(node.replicas)}</td><td class="r">
      ${node.state !== unknown && formatCount(node.leads)}</td>
    <td class="r opt">${node.state !== unknown && formatBytes(node.bytes ?? 0)}</td><td class="opt">${node.version}</td></tr>`;
}

/**
 * The role of each node for each shard, as a letter and a word. A cell offers what can be done with the replica in it.
 * @param {{state: any, onDo: Do | null}} props
 */
export function Matrix({ state, onDo }) {
  const nodes = state.nodes.filter((/** @type {any} */ n) => n.roles.includes('shard'));
  const heads = shortNames(nodes.map((/** @type {any} */ n) => n.name));
  return html`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>
    ${nodes.map((/** @type {any} */ n, /** @type {number} */ i) => html`<th title=${n.name}>${heads[i]}</th>`)}<th class="r opt">lag</th>
    <th class="r opt" title="The rows of its largest replica, without the log">size of rows</th><th>state</th></tr></thead>
    <tbody>${state.shards.map(
      (/** @type {any} */ s) =>
        html`<tr key=${s.id}><td>shard ${s.id}</td>${nodes.map((/** @type {any} */ n) => {
          const [letter, word, look] = roleOf(s, n);
          const says = `shard ${s.id} on ${n.name}: ${word}`;
          return html`<td class=${look} data-ui="shard-cell" title=${says}>
            ${onDo && letter !== '·' ? html`<${CellMenu} letter=${letter} says=${says} shard=${String(s.id)} node=${n.name} onDo=${onDo} />` : letter}</td>`;
        })}<td class="r opt">${s.state !== unknown && formatCount(s.lag)}</td><td class="r opt">${s.state !== unknown && formatBytes(s.bytes)}</td>
          <td><span class=${s.state === 'ok' ? '' : lookOf(s.state)}>${s.state}</span></td></tr>`,
    )}</tbody></table></div>`;
}

/** @param {{letter: string, says: string, shard: string, node: string, onDo: Do}} props */
function CellMenu({ letter, says, shard, node, onDo }) {
  return html`<${Menu} button=${html`<span aria-hidden="true">${letter}</span><span class="hidden">${says}</span>`} label=${says} class="cell">${(
    /** @type {() => void} */ close,
  ) => {
    const choose = (/** @type {string} */ id, /** @type {Record<string, string>} */ given) => {
      close();
      onDo(id, given);
    };
    return html`<p class="quiet">${says}</p><button class="choice" data-ui="cell-move"
      onClick=${() => choose('shard-move', { shard, from: node })}>Move to another node…</button>
      <button class="choice" data-ui="cell-rebuild" onClick=${() => choose('rebuild', { shard, node })}>Rebuild…</button>`;
  }}<//>`;
}

/**
 * @param {any} shard
 * @param {{name: string, state: string}} node
 */
export function roleOf(shard, { name, state }) {
  const has = shard.replicas.includes(name) || shard.learners.includes(name);
  if (has && silent.includes(state)) return ['!', `has a replica, and does not answer: the node is ${state}`, 'x'];
  if (shard.unready.includes(name)) return ['c', 'has a replica that is not up to date yet', 'c'];
  if (shard.leader === name) return ['L', 'leads', 'L'];
  if (shard.learners.includes(name)) return ['c', 'is catching up', 'c'];
  return shard.replicas.includes(name) ? ['r', 'has a replica', 'p'] : ['·', 'has none', ''];
}
