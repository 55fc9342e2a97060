// Settings: how this browser shows the page, who asks, and what the server runs with.

import { html, useEffect, useState } from '../../vendor/core.js';
import { Access } from '../components/access.js';
import { useIgnored } from '../components/ignored.js';
import { RoleChooser } from '../components/roles.js';
import { SavedItems } from '../components/share.js';
import { ErrorPanel } from '../components/states.js';
import { formatCount } from '../lib/format.js';
import { browserZone } from '../lib/time.js';
import { unknownParts } from '../lib/url.js';
import { askedFor, keyOf, rolesOf } from '../stores/columns.js';
import { clock, createLatest } from '../stores/latest.js';

/** @param {{stores: import('../main.js').Stores}} props */
export function SettingsPage({ stores }) {
  const { prefs, signIn, place } = stores;
  useIgnored(place.page.value === 'settings' ? unknownParts(place.here.value.params, {}) : []);
  useEffect(() => {
    document.title = 'Settings · cordwood';
  }, []);
  const session = signIn.session.value;
  return html`<div class="scrolled settings"><div class="state"><h1>Settings</h1>
    <span class="quiet">The choices in the first part are stored in this browser, and searches on the server.</span></div>
    <section aria-label="This browser"><h2 class="head">This browser</h2>
      <${Choice} label="Theme" value=${prefs.theme} choices=${{ system: 'System', light: 'Light', dark: 'Dark' }} />
      <${Choice} label="Times" value=${prefs.zone} choices=${zones()} ui="zone" />
      <${Choice} label="Height of rows" value=${prefs.density} choices=${{ dense: 'Dense, 20 px', normal: 'Normal, 24 px', comfortable: 'Comfortable, 28 px' }} />
      <${Choice} label="Single keys" value=${prefs.singleKeys} choices=${{ on: 'On', off: 'Off: only keys with Ctrl' }} />
      <label class="setting"><span>First table</span><span><select data-ui="first-table" value=${prefs.table.value}
        onChange=${(/** @type {Event} */ e) => (prefs.table.value = /** @type {HTMLSelectElement} */ (e.currentTarget).value)}>
        <option value="">the one with the most rows</option>
        ${stores.tables.all.value.filter((t) => t.db === 'public').map((t) => html`<option value=${t.name}>${t.name}</option>`)}</select> <span
        class="quiet">the table that you opened last, unless you choose another</span></span></label>
      <${TableRoles} stores=${stores} />
      <div class="setting"><span>Earlier searches</span><span>
        ${formatCount(prefs.history.value.length)} in this browser ${
          prefs.history.value.length > 0 &&
          html`<button class="text go"
        onClick=${() => (prefs.history.value = [])}>Forget them</button>`
        }</span></div>
      <${SavedSearches} stores=${stores} />
    </section>
    <section aria-label="User"><h2 class="head">User</h2>
      <div class="setting"><span>Signed in as</span><span>${
        session?.auth === 'off'
          ? 'This server has no users: everybody may do everything.'
          : html`<b>${session?.user ?? ''}</b>${session?.auth === 'token' && ', by a token'}`
      }</span></div>
      ${session && session.auth !== 'off' && html`<${OwnGrants} api=${stores.api} user=${session.user} />`}
      ${
        signIn.user.value &&
        html`<div class="setting"><span></span>
        <button class="button" data-ui="sign-out" onClick=${() => signIn.leave().then(() => location.reload())}>Sign out</button></div>`
      }
    </section>
    ${session && session.auth !== 'off' && html`<${Access} stores=${stores} />`}
    <section aria-label="Server"><h2 class="head">Server</h2>
      <div class="setting"><span>Node</span><span>${session?.server?.name}</span></div>
      <div class="setting"><span>Version</span><span>${session?.server?.version}</span></div>
      <${Config} api=${stores.api} />
    </section></div>`;
}

/** The searches that are saved on the server. @param {{stores: import('../main.js').Stores}} props */
function SavedSearches({ stores }) {
  const { saved, signIn, place } = stores;
  const user = signIn.user.value;
  useEffect(() => void saved.load(), [user]);
  return html`<div class="setting" data-ui="saved-searches"><span>Saved searches</span><div class="saved-items">
      <${ErrorPanel} latest=${saved.list} what="Asking for what is saved" /><${ErrorPanel} latest=${saved.changing} what="Changing what is saved" />
      ${
        saved.list.value.value?.length === 0
          ? html`<span
        class="quiet">None; Saved on the page Explore keeps a search under a name.</span>`
          : html`<${SavedItems} saved=${saved} user=${user}
        onOpen=${place.go} />`
      }</div></div>`;
}

/** The columns with the message and the level, of one table. @param {{stores: import('../main.js').Stores}} props */
function TableRoles({ stores }) {
  const { prefs, tables, api } = stores;
  const all = tables.all.value.filter((t) => t.db === 'public');
  const [table, setTable] = useState(prefs.table.value);
  const [latest] = useState(() => /** @type {import('../stores/latest.js').Latest<any>} */ (createLatest(clock)));
  const roles = rolesOf(prefs, 'public', [table]);
  const known = all.some((t) => t.name === table);
  useEffect(() => {
    if (!known) return;
    const body = { db: 'public', tables: [table], ...askedFor(roles) };
    void latest.run((signal) => api.json({ path: '/v1/explore/fields', body, signal }));
  }, [table, known, roles.message, roles.level]);
  return html`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${known ? table : ''}
    onChange=${(/** @type {Event} */ e) => setTable(/** @type {HTMLSelectElement} */ (e.currentTarget).value)}>
      <option value="">a table</option>${all.map((t) => html`<option value=${t.name}>${t.name}</option>`)}</select></label>
    <${ErrorPanel} latest=${latest} what="Asking for the columns" />
    ${
      known &&
      latest.value.value &&
      html`<${RoleChooser} fields=${latest.value.value.fields} roles=${roles}
      onRole=${(/** @type {'message' | 'level'} */ role, /** @type {string} */ name) => prefs.roles.set(keyOf('public', [table]), { ...roles, [role]: name })} />`
    }`;
}

/** What the user may do, as GRANT has it. @param {{api: import('../lib/api.js').Api, user: string}} props */
function OwnGrants({ api, user }) {
  const [latest] = useState(() => /** @type {import('../stores/latest.js').Latest<{grants: string[], ingest_only: boolean}>} */ (createLatest(clock)));
  useEffect(() => void latest.run((signal) => api.json({ path: '/v1/access/whoami', signal }), user), [user]);
  const own = latest.value.value;
  return html`<${ErrorPanel} latest=${latest} what="Asking for your rights" />
    ${
      own &&
      html`<div class="setting" data-ui="own-grants"><span>May</span><span>${
        own.grants.length === 0
          ? 'nothing yet: an administrator can grant rights.'
          : html`<ul class="mono">${own.grants.map((grant) => html`<li>${grant}</li>`)}</ul>`
      }${own.ingest_only && html`<p class="quiet">This token only sends rows.</p>`}</span></div>`
    }`;
}

function zones() {
  return Object.fromEntries([...new Set([browserZone, 'UTC'])].map((zone) => [zone, zone === 'UTC' ? 'UTC' : `${zone}, the browser's`]));
}

/** @param {{label: string, value: {value: string}, choices: Record<string, string>, ui?: string}} props */
function Choice({ label, value, choices, ui }) {
  return html`<div class="setting" role="radiogroup" aria-label=${label} data-ui=${ui}><span>${label}</span><span class="choices-in-line">${Object.entries(
    choices,
  ).map(
    ([id, name]) =>
      html`<label><input type="radio" name=${label} value=${id} checked=${value.value === id} onChange=${() => (value.value = id)} />${name}</label>`,
  )}</span></div>`;
}

/** What the server was started with. @param {{api: import('../lib/api.js').Api}} props */
function Config({ api }) {
  const [latest] = useState(() => /** @type {import('../stores/latest.js').Latest<string>} */ (createLatest(clock)));
  useEffect(() => {
    void latest.run(async (signal) => (await api.send({ path: '/config', signal, need: ['MONITOR', 'CLUSTER'] })).text());
  }, []);
  return html`<div class="setting"><span>Started with</span><${ErrorPanel} latest=${latest} what="Asking for the settings" />${
    latest.value.value && html`<pre tabindex="0" aria-label="Settings of the server">${latest.value.value}</pre>`
  }</div>`;
}
