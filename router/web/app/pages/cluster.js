// Cluster: its state and problems with their advice first, then nodes, shards and operations, and what can be done.

import { html, useEffect, useState } from '../../vendor/core.js';
import { AddNode, ClusterAct, Rebalance } from '../components/clusteract.js';
import { Operations, Refreshed } from '../components/clusterops.js';
import { Matrix, Nodes } from '../components/clusterview.js';
import { useIgnored } from '../components/ignored.js';
import { Menu } from '../components/menu.js';
import { ErrorPanel, Progress } from '../components/states.js';
import { clusterActs, offersOnce } from '../lib/clusteracts.js';
import { adviceWords, toleranceWords } from '../lib/clusterwords.js';
import { sentence } from '../lib/format.js';
import { partsOfTime } from '../lib/time.js';
import { unknownParts } from '../lib/url.js';

/** @typedef {import('../components/clusterview.js').Do} Do */

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
  if (!state)
    return html`<h1 class="hidden">Cluster</h1><${Progress} since=${health.since.value} onCancel=${health.cancel} />
      <${ErrorPanel} latest=${health} what="Asking for the state of the cluster" />`;
  const ok = state.health === 'ok';
  const silent = health.error.value !== null; // what is on screen is what was known last
  const may = signIn.canManage.value;
  const act = /** @type {Do} */ (
    (id, given = {}) => {
      if (id === 'cancel') void operations.cancel(Number(given.operation)).then(() => health.load());
      else setDoing({ id, given });
    }
  );
  const close = () => setDoing({ id: '', given: {} });
  return html`<div class="scrolled">
    <div class="state"><h1>
      ${silent ? 'The state of the cluster is not known' : ok ? 'The cluster is healthy' : html`The cluster is <i class=${state.health}>${state.health}</i>`}</h1>
      <span class="quiet" data-ui=${silent ? 'known-since' : 'tolerance'}>
        ${silent ? `What follows was so at ${partsOfTime(health.answered.value, stores.prefs.zone.value).time} (${stores.prefs.zone.value}).` : toleranceWords(state)}</span></div>
    <${ErrorPanel} latest=${health} what="Asking for the state of the cluster" />
    ${offersOnce(state.problems).map(({ problem, offers }) => html`<${Problem} problem=${problem} offers=${may ? offers : []} onDo=${act} />`)}
    <div class="cols"><section class="pane" aria-label="Nodes and shards">
        <h2 class="head">Nodes<span class="grow"></span>
          ${may && html`<${Acts} group="nodes" first=${{ 'add-node': 'Add a node…', drain: 'Drain a node…' }} onDo=${act} />`}</h2>
        <${Nodes} nodes=${state.nodes} />
        <h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>
          ${may && html`<${Acts} group="shards" first=${{ 'shard-move': 'Move a replica…', rebalance: 'Rebalance…' }} onDo=${act} />`}</h2>
        <${Matrix} state=${state} onDo=${may ? act : null} /></section>
      <section class="pane" aria-label="Operations"><h2 class="head">Operations<span class="grow"></span><${Refreshed} stores=${stores} /></h2>
        <${Operations} operations=${operations.list.value.value ?? state.operations} stores=${stores} may=${may} /></section>
    </div></div>
    ${doing.id === 'add-node' && html`<${AddNode} state=${state} stores=${stores} onClose=${close} />`}
    ${doing.id === 'rebalance' && html`<${Rebalance} stores=${stores} onClose=${close} />`}
    ${clusterActs.some((a) => a.id === doing.id) && html`<${ClusterAct} id=${doing.id} given=${doing.given} state=${state} stores=${stores} onClose=${close} />`}`;
}

/** A problem, with what to do about it. @param {{problem: any, offers: import('../lib/clusteracts.js').Offer[], onDo: Do}} props */
function Problem({ problem, offers, onDo }) {
  return html`<div class=${`problem ${problem.severity ?? ''}`}><p><b>${sentence(problem.text)}</b> ${adviceWords(problem.advice)}</p>
    ${
      offers.length > 0 &&
      html`<div class="offers">
      ${offers.map(({ name, act, given }) => html`<button class="button" data-ui=${`mend-${act}`} onClick=${() => onDo(act, given)}>${name}</button>`)}</div>`
    }</div>`;
}

/**
 * The operations of a group: the first ones as words where there is room, and all in a menu.
 * @param {{group: string, first: Record<string, string>, onDo: Do}} props
 */
function Acts({ group, first, onDo }) {
  const others = clusterActs.filter((a) => a.group === group && !(a.id in first)).map(({ id, name }) => /** @type {[string, string]} */ ([id, name]));
  return html`${Object.entries(first).map(([id, name]) => html`<button class="text wide" data-ui=${id} onClick=${() => onDo(id)}>${name}</button>`)}
    <${Menu} button=${html`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${group}`} ui=${`${group}-acts`} class="text change">${(
      /** @type {() => void} */ close,
    ) =>
      [...Object.entries(first), ...others].map(
        ([id, name]) =>
          html`<button class=${`choice ${id in first ? 'narrow-only' : ''}`} data-ui=${`do-${id}`} onClick=${() => {
            close();
            onDo(id);
          }}>${name}</button>`,
      )}<//>`;
}
