// Cluster: its state and problems with their advice first, then nodes, shards and operations, and what can be done.

import { html, useEffect, useState } from '../../vendor/core.js';
import { AddNode, ClusterAct, Rebalance } from '../components/clusteract.js';
import { useIgnored } from '../components/ignored.js';
import { Menu } from '../components/menu.js';
import { ErrorPanel } from '../components/states.js';
import { clusterActs, operationWords } from '../lib/clusteracts.js';
import { formatBytes, formatCount, formatDuration, sentence } from '../lib/format.js';
import { partsOfTime } from '../lib/time.js';
import { unknownParts } from '../lib/url.js';

/** @typedef {(id: string, given?: Record<string, string>) => void} Do */

/** @param {{stores: import('../main.js').Stores}} props */
export function ClusterPage({ stores }) {
  const { health, signIn, operations, place } = stores;
  useIgnored(place.page.value === 'cluster' ? unknownParts(place.here.value.params, {}) : []);
  useEffect(() => {
    document.title = 'Cluster · cordwood';
    const load = () => {
      if (document.visibilityState !== 'visible') return;
      void health.load();
      void operations.loadList();
    };
    void operations.loadList();
    const timer = setInterval(load, 2000);
    return () => clearInterval(timer);
  }, [health]);
  const [doing, setDoing] = useState({ id: '', given: {} });
  const state = health.value.value;
  if (!state) return html`<h1 class="hidden">Cluster</h1><${ErrorPanel} latest=${health} what="Asking for the state of the cluster" />`;
  const ok = state.health === 'ok';
  const silent = health.error.value !== null; // what is on screen is what was known last
  const may = signIn.canManage.value;
  const act = /** @type {Do} */ ((id, given = {}) => setDoing({ id, given }));
  const close = () => setDoing({ id: '', given: {} });
  const tolerance = state.failure_tolerance;
  return html`<div class="scrolled">
    <div class="state"><h1>${silent ? 'The state of the cluster is not known' : ok ? 'The cluster is healthy' : html`The cluster is <i>${state.health}</i>`}</h1>
      ${
        silent
          ? html`<span class="quiet" data-ui="known-since">What follows was so at ${partsOfTime(health.answered.value, stores.prefs.zone.value).time} (${stores.prefs.zone.value}).</span>`
          : html`<span class="quiet">${tolerance > 0 ? `It survives the loss of ${tolerance} ${tolerance === 1 ? 'node' : 'nodes'}.` : `It survives the loss of no node; ${state.limited_by} limits it.`}</span>`
      }</div>
    <${ErrorPanel} latest=${health} what="Asking for the state of the cluster" />
    ${state.problems.map((/** @type {any} */ p) => html`<div class="problem"><p><b>${sentence(p.text)}</b> ${sentence(p.advice)}</p></div>`)}
    <div class="cols"><section class="pane" aria-label="Nodes and shards">
        <h2 class="head">Nodes<span class="grow"></span>${may && html`<button class="text wide" data-ui="add-node" onClick=${() => act('add-node')}>Add a node…</button><${Acts} group="nodes" first=${['add-node', 'Add a node…']} onDo=${act} />`}</h2><div class="wide-table"><table><thead><tr><th>node</th><th>state</th><th>roles</th><th>metadata</th><th class="r">replicas</th><th class="r">leads</th><th class="r opt">bytes</th><th>disk</th><th class="opt">version</th></tr></thead>
          <tbody>${state.nodes.map((/** @type {any} */ n) => html`<${NodeRow} key=${n.id} node=${n} />`)}</tbody></table></div>
        <h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${may && html`<button class="text wide" data-ui="rebalance" onClick=${() => act('rebalance')}>Rebalance…</button><${Acts} group="shards" first=${['rebalance', 'Rebalance…']} onDo=${act} />`}</h2>
        <${Matrix} state=${state} onDo=${may ? act : null} /></section>
      <section class="pane" aria-label="Operations"><h2 class="head">Operations</h2><${Operations} operations=${operations.list.value.value ?? state.operations} stores=${stores} may=${may} /></section>
    </div></div>
    ${doing.id === 'add-node' && html`<${AddNode} state=${state} onClose=${close} />`}
    ${doing.id === 'rebalance' && html`<${Rebalance} stores=${stores} onClose=${close} />`}
    ${clusterActs.some((a) => a.id === doing.id) && html`<${ClusterAct} id=${doing.id} given=${doing.given} state=${state} stores=${stores} onClose=${close} />`}`;
}

/** @param {{node: any}} props */
function NodeRow({ node }) {
  const share = node.disk_capacity > 0 ? (node.disk_used / node.disk_capacity) * 100 : 0;
  return html`<tr data-ui="node"><td>${node.name}</td>
    <td><span class=${node.state === 'up' ? 'ok' : 'bad'}>${node.state}</span>${node.silent_seconds > 10 && ` silent for ${Math.round(node.silent_seconds)} s`}</td>
    <td>${node.roles.join(', ')}</td><td>${node.meta}</td><td class="r">${formatCount(node.replicas)}</td><td class="r">${formatCount(node.leads)}</td><td class="r opt">${formatBytes(node.bytes ?? 0)}</td>
    <td><span class=${`disk ${share > 85 ? 'full' : ''}`} style=${{ '--p': `${share.toFixed(0)}%` }}></span>${formatBytes(node.disk_used)} of ${formatBytes(node.disk_capacity)}</td>
    <td class="opt">${node.version}</td></tr>`;
}

/** @param {{group: string, first: [string, string], onDo: Do}} props first: stands beside the menu, where there is room */
function Acts({ group, first, onDo }) {
  return html`<${Menu} button=${html`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${group}`} ui=${`${group}-acts`} class="text change">${(
    /** @type {() => void} */ close,
  ) =>
    [{ id: first[0], name: first[1] }, ...clusterActs.filter((a) => a.group === group)].map(
      ({ id, name }, i) =>
        html`<button class=${`choice ${i === 0 ? 'narrow-only' : ''}`} data-ui=${`do-${id}`} onClick=${() => {
          close();
          onDo(id);
        }}>${name}</button>`,
    )}<//>`;
}

/**
 * The role of each node for each shard, as a letter and a word. A cell offers what can be done with the replica in it.
 * @param {{state: any, onDo: Do | null}} props
 */
function Matrix({ state, onDo }) {
  const nodes = state.nodes.filter((/** @type {any} */ n) => n.roles.includes('shard'));
  return html`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${nodes.map((/** @type {any} */ n) => html`<th>${n.name}</th>`)}<th class="r opt">lag</th><th class="r">on disk</th><th>state</th></tr></thead>
    <tbody>${state.shards.map(
      (/** @type {any} */ s) =>
        html`<tr key=${s.id}><td>shard ${s.id}</td>${nodes.map((/** @type {any} */ n) => {
          const [letter, word, look] = roleOf(s, n);
          const says = `shard ${s.id} on ${n.name}: ${word}`;
          return html`<td class=${look} data-ui="shard-cell" title=${says}>${onDo && letter !== '·' ? html`<${CellMenu} letter=${letter} says=${says} shard=${String(s.id)} node=${n.name} onDo=${onDo} />` : letter}</td>`;
        })}<td class="r opt">${formatCount(s.lag)}</td><td class="r">${formatBytes(s.bytes)}</td><td><span class=${s.state === 'ok' ? '' : 'bad'}>${s.state}</span></td></tr>`,
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
    return html`<p class="quiet">${says}</p><button class="choice" data-ui="cell-move" onClick=${() => choose('shard-move', { shard, from: node })}>Move to another node…</button>
      <button class="choice" data-ui="cell-rebuild" onClick=${() => choose('rebuild', { shard, node })}>Rebuild…</button>`;
  }}<//>`;
}

/**
 * @param {any} shard
 * @param {{name: string, state: string}} node
 */
function roleOf(shard, { name, state }) {
  const has = shard.replicas.includes(name) || shard.learners.includes(name);
  if (has && (state === 'down' || state === 'lost')) return ['!', 'has a replica, and does not answer', 'x'];
  if (shard.unready.includes(name)) return ['!', 'has a replica that cannot be used', 'x'];
  if (shard.leader === name) return ['L', 'leads', 'L'];
  if (shard.learners.includes(name)) return ['c', 'is catching up', 'c'];
  return shard.replicas.includes(name) ? ['r', 'has a replica', 'p'] : ['·', 'has none', ''];
}

/** @param {{operations: any[], stores: import('../main.js').Stores, may: boolean}} props */
function Operations({ operations, stores, may }) {
  const { cancelling } = stores.operations;
  if (operations.length === 0) return html`<p class="quiet none">No operation is running or stored.</p>`;
  return html`<${ErrorPanel} latest=${cancelling} what="Cancelling" /><ul class="ops">${operations.map((o) => {
    const runs = o.state === 'running';
    const share = o.total_bytes > 0 ? (o.done_bytes / o.total_bytes) * 100 : 0;
    const says = [
      runs ? o.step : `${o.state} ${agoOf(o.ended ?? o.updated)}`,
      runs && o.total_bytes > 0 && `${formatBytes(o.done_bytes)} of ${formatBytes(o.total_bytes)}`,
      runs && o.eta_seconds && `${formatDuration(o.eta_seconds * 1000)} left`,
      o.reason,
      o.requested_by && `requested by ${o.requested_by}`,
    ].filter(Boolean);
    return html`<li data-ui="operation" data-state=${o.state} key=${o.id}><h3>${operationWords(o)}${
      runs &&
      may &&
      (o.cancel
        ? html`<span class="text">being cancelled</span>`
        : html`<button class="text" data-ui="cancel" onClick=${() => stores.operations.cancel(o.id).then(() => stores.health.load())}>Cancel</button>`)
    }</h3>
      ${runs && o.total_bytes > 0 && html`<div class="bar" style=${{ '--p': `${share}%` }}></div>`}<p>${says.join(' · ')}</p></li>`;
  })}</ul>`;
}

/** @param {string} time */
function agoOf(time) {
  return `${formatDuration(Math.max(0, Date.now() - Date.parse(time)))} ago`;
}
