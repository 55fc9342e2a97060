// Cluster: its state and problems with their advice first, then nodes, shards and operations.

import { html, useEffect } from '../../vendor/core.js';
import { ErrorPanel } from '../components/states.js';
import { formatBytes, formatCount } from '../lib/format.js';

/** @param {{stores: import('../main.js').Stores}} props */
export function ClusterPage({ stores }) {
  const { health } = stores;
  useEffect(() => {
    document.title = 'Cluster · cordwood';
    const load = () => document.visibilityState === 'visible' && void health.load();
    const timer = setInterval(load, 2000);
    return () => clearInterval(timer);
  }, [health]);
  const state = health.value.value;
  if (!state) return html`<h1 class="hidden">Cluster</h1><${ErrorPanel} latest=${health} what="Asking for the state of the cluster" />`;
  const ok = state.health === 'ok';
  const tolerance = state.failure_tolerance;
  return html`<div class="scrolled">
    <div class="state"><h1>${ok ? 'The cluster is well' : html`The cluster is <i>${state.health}</i>`}</h1>
      <span class="quiet">${tolerance > 0 ? `It survives the loss of ${tolerance} ${tolerance === 1 ? 'node' : 'nodes'}.` : `It survives the loss of no node; ${state.limited_by} limits it.`}</span></div>
    <${ErrorPanel} latest=${health} what="Asking for the state of the cluster" />
    ${state.problems.map((/** @type {any} */ p) => html`<div class="problem"><p><b>${p.text}</b> ${p.advice}</p></div>`)}
    <div class="cols"><section class="pane" aria-label="Nodes and shards">
        <h2 class="head">Nodes</h2><div class="wide-table"><table><thead><tr><th>node</th><th>state</th><th>roles</th><th>metadata</th><th class="r">replicas</th><th class="r">leads</th><th>disk</th><th class="opt">version</th></tr></thead>
          <tbody>${state.nodes.map((/** @type {any} */ n) => html`<${NodeRow} key=${n.id} node=${n} />`)}</tbody></table></div>
        <h2 class="head">Shards</h2><${Matrix} state=${state} /></section>
      <section class="pane" aria-label="Operations"><h2 class="head">Operations</h2><${Operations} operations=${state.operations} /></section>
    </div></div>`;
}

/** @param {{node: any}} props */
function NodeRow({ node }) {
  const share = node.disk_capacity > 0 ? (node.disk_used / node.disk_capacity) * 100 : 0;
  return html`<tr data-ui="node"><td>${node.name}</td>
    <td><span class=${node.state === 'up' ? 'ok' : 'bad'}>${node.state}</span>${node.silent_seconds > 10 && ` silent for ${Math.round(node.silent_seconds)} s`}</td>
    <td>${node.roles.join(', ')}</td><td>${node.meta}</td><td class="r">${formatCount(node.replicas)}</td><td class="r">${formatCount(node.leads)}</td>
    <td><span class=${`disk ${share > 85 ? 'full' : ''}`} style=${{ '--p': `${share.toFixed(0)}%` }}></span>${formatBytes(node.disk_used)} of ${formatBytes(node.disk_capacity)}</td>
    <td class="opt">${node.version}</td></tr>`;
}

/**
 * What each node is for each shard, by a letter and a word.
 * @param {{state: any}} props
 */
function Matrix({ state }) {
  const nodes = state.nodes.filter((/** @type {any} */ n) => n.roles.includes('shard'));
  return html`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${nodes.map((/** @type {any} */ n) => html`<th>${n.name}</th>`)}<th class="r">on disk</th><th>state</th></tr></thead>
    <tbody>${state.shards.map(
      (/** @type {any} */ s) =>
        html`<tr><td>${s.id}</td>${nodes.map((/** @type {any} */ n) => {
          const [letter, word, look] = roleOf(s, n.name);
          return html`<td class=${look} data-ui="shard-cell" title=${`shard ${s.id} on ${n.name}: ${word}`}>${letter}</td>`;
        })}<td class="r">${formatBytes(s.bytes)}</td><td>${s.state}</td></tr>`,
    )}</tbody></table></div>
    <p class="quiet foot">L leads · R has a replica · C is catching up · X does not answer</p>`;
}

/**
 * @param {any} shard
 * @param {string} name
 */
function roleOf(shard, name) {
  if (shard.unready.includes(name)) return ['X', 'has a replica that does not answer', 'x'];
  if (shard.leader === name) return ['L', 'leads', 'L'];
  if (shard.learners.includes(name)) return ['C', 'is catching up', 'c'];
  return shard.replicas.includes(name) ? ['R', 'has a replica', ''] : ['·', 'has none', ''];
}

/** @param {{operations: any[]}} props */
function Operations({ operations }) {
  if (operations.length === 0) return html`<p class="quiet none">No operation is under way.</p>`;
  return html`<ul class="ops">${operations.map(
    (o) => html`<li data-ui="operation"><h3>${o.kind} ${o.subject}<span class="text">${o.state}</span></h3><p>${o.step}${o.reason && `: ${o.reason}`}</p></li>`,
  )}</ul>`;
}
