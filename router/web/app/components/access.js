// The users, roles and tokens in Settings. Each change is a statement, which is shown before it runs.

import { html, useEffect, useRef, useState } from '../../vendor/core.js';
import { accessActions, hidePasswords, lifetimes, missingTarget, privileges, revokeOf, scopes, targetPattern, tokenCommand } from '../lib/accessacts.js';
import { mostListed } from '../stores/access.js';
import { toast } from '../stores/toast.js';
import { copyText } from './copy.js';
import { Dialog } from './dialog.js';
import { ErrorPanel } from './states.js';
import { StatementForm } from './statementform.js';

/** @typedef {import('../stores/access.js').Entry} Entry */
/** @typedef {import('../lib/accessacts.js').Values} Values */

/** @param {{stores: import('../main.js').Stores}} props */
export function Access({ stores }) {
  const { access } = stores;
  const [doing, setDoing] = useState(/** @type {{id: string, target: string} | null} */ (null));
  const [find, setFind] = useState('');
  const [grantsOf, setGrantsOf] = useState('');
  const [secret, setSecret] = useState(/** @type {{of: Entry, values: Values} | null} */ (null));
  useEffect(() => void reload(), [find]);
  useEffect(() => void access.loadRoles(), []);

  async function reload() {
    await Promise.all([access.loadUsers(find), access.loadTokens(find)]);
  }

  /** @param {string} of */
  function showGrants(of) {
    setGrantsOf(of === grantsOf ? '' : of);
    if (of !== grantsOf) void access.loadGrants(of);
  }

  /**
   * @param {string} statement
   * @param {string} shown
   * @param {Values} values
   */
  async function run(statement, shown, values) {
    const rows = await access.change(statement, statement !== shown);
    if (!rows) return;
    setDoing(null);
    if (rows[0]?.Token) setSecret({ of: rows[0], values });
    else toast(`Done: ${shown}`);
    await Promise.all([reload(), access.loadRoles(), grantsOf && access.loadGrants(grantsOf)]);
  }

  const act = (/** @type {string} */ id, target = '') => setDoing({ id, target });
  const byToken = stores.signIn.session.value?.auth === 'token';
  const mayManage = access.users.error.value?.status !== 403;
  return html`<section aria-label="Users and tokens"><h2 class="head">${mayManage ? 'Users and tokens' : 'My tokens'}<span class="grow"></span>
      ${!byToken && html`<button class="text" data-ui="own-password" onClick=${() => act('ownPassword')}>Change my password…</button>`}
      <input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${find}
        onInput=${(/** @type {InputEvent} */ e) => setFind(/** @type {HTMLInputElement} */ (e.currentTarget).value)} /></h2>
    ${mayManage && html`<${Users} access=${access} onAct=${act} onGrants=${showGrants} grantsOf=${grantsOf} />`}
    ${mayManage && html`<${Roles} access=${access} onAct=${act} onGrants=${showGrants} grantsOf=${grantsOf} />`}
    <${Tokens} access=${access} onAct=${act} />
    ${
      doing &&
      html`<${AccessForm} key=${`${doing.id} ${doing.target}`} id=${doing.id} target=${doing.target} stores=${stores} onRun=${run}
      onClose=${() => setDoing(null)} />`
    }
    ${secret && html`<${Secret} ...${secret} onClose=${() => setSecret(null)} />`}</section>`;
}

/** @typedef {ReturnType<typeof import('../stores/access.js').createAccess>} AccessStore */
/** @typedef {(id: string, target?: string) => void} Act */

/** @param {{access: AccessStore, onAct: Act, onGrants: (of: string) => void, grantsOf: string}} props */
function Users({ access, onAct, onGrants, grantsOf }) {
  const all = access.users.value.value ?? [];
  return html`<${ListHead} title="Users" latest=${access.users}><button class="text" data-ui="new-user" onClick=${() => onAct('createUser')}>New user…</button><//>
    ${
      all.length > 0 &&
      html`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table class="principals"><thead><tr><th>name</th><th>roles</th>
        <th>state</th><th>valid until, UTC</th><td></td></tr></thead>
      <tbody>${all.map((u) => {
        const enabled = !u.State.startsWith('disabled');
        return html`<tr key=${u.User} data-ui="user" data-name=${u.User}><td><b>${u.User}</b></td><td>${u.Roles}</td><td>${u.State}</td><td>
          ${minuteOf(u['Valid until'])}</td>
          <td class="r"><${Do} what="Grants" of=${u.User} expanded=${grantsOf === u.User} onDo=${() => onGrants(u.User)} />
            <${Do} what="Password…" of=${u.User} onDo=${() => onAct('password', u.User)} />
            <${Do} what=${enabled ? 'Disable…' : 'Enable…'} of=${u.User} onDo=${() => onAct(enabled ? 'disable' : 'enable', u.User)} />
            <${Do} what="Drop…" of=${u.User} onDo=${() => onAct('dropUser', u.User)} /></td></tr>
          ${grantsOf === u.User && html`<${GrantsRow} of=${u.User} span=${5} access=${access} onAct=${onAct} />`}`;
      })}</tbody></table></div>`
    }`;
}

/** @param {{access: AccessStore, onAct: Act, onGrants: (of: string) => void, grantsOf: string}} props */
function Roles({ access, onAct, onGrants, grantsOf }) {
  const all = access.roles.value.value ?? [];
  return html`<${ListHead} title="Roles" latest=${access.roles}><button class="text" data-ui="new-role" onClick=${() => onAct('createRole')}>New role…</button><//>
    ${
      all.length > 0 &&
      html`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table class="principals"><thead><tr><th>name</th><th>roles</th>
        <th>state</th><td></td><td></td></tr></thead>
      <tbody>${all.map((r) => {
        const fixed = r.State === 'built in';
        return html`<tr key=${r.Role} data-ui="role" data-name=${r.Role}><td><b>${r.Role}</b></td><td>${r.Roles}</td><td>${r.State}</td><td></td>
          <td class="r"><${Do} what="Grants" of=${r.Role} expanded=${grantsOf === r.Role} onDo=${() => onGrants(r.Role)} />
            ${!fixed && html`<${Do} what="Drop…" of=${r.Role} onDo=${() => onAct('dropRole', r.Role)} />`}</td></tr>
          ${grantsOf === r.Role && html`<${GrantsRow} of=${r.Role} span=${5} access=${access} onAct=${onAct} />`}`;
      })}</tbody></table></div>`
    }`;
}

/** What can be done with one of many. @param {{what: string, of: string, expanded?: boolean, onDo: () => void}} props */
function Do({ what, of, expanded, onDo }) {
  return html`<button class="text" aria-label=${`${what} ${of}`} aria-expanded=${expanded} onClick=${onDo}>${what}</button>`;
}

/** The grants of a user or role, below it. @param {{of: string, span: number, access: AccessStore, onAct: Act}} props */
function GrantsRow({ of, span, access, onAct }) {
  return html`<tr class="grants-of"><td colspan=${span}><${Grants} of=${of} access=${access} onAct=${onAct} /></td></tr>`;
}

/** @param {{of: string, access: AccessStore, onAct: Act}} props */
function Grants({ of, access, onAct }) {
  const all = access.grants.value.value;
  return html`<${ListHead} title=${`Grants of ${of}`} latest=${access.grants}><button class="text" data-ui="grant" onClick=${() => onAct('grant', of)}>Grant…</button>
      <button class="text" data-ui="grant-role" onClick=${() => onAct('grantRole', of)}>Grant a role…</button><//>
    ${
      all &&
      html`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${of}`}><table><tbody>${all.map(
        (text) =>
          html`<tr key=${text} data-ui="granted"><td class="mono">${text}</td><td class="r">
            ${revokeOf(text) && html`<${Do} what="Revoke…" of=${text} onDo=${() => onAct('revoke', text)} />`}</td></tr>`,
      )}</tbody></table></div>`
    }
    ${all?.length === 0 && html`<p class="quiet none">${of} has no grants.</p>`}`;
}

/** @param {{access: AccessStore, onAct: Act}} props */
function Tokens({ access, onAct }) {
  const all = access.tokens.value.value ?? [];
  return html`<${ListHead} title="Tokens" latest=${access.tokens}><button class="text" data-ui="new-token" onClick=${() => onAct('createToken')}>New token…</button><//>
    ${
      all.length > 0 &&
      html`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th>
        <th>expires, UTC</th><th>last used, UTC</th><th>note</th><td></td></tr></thead>
      <tbody>${all.map(
        (t) =>
          html`<tr key=${t.Id} data-ui="token" data-name=${t.Token}><td><b>${t.Token}</b><small>cw_${t.Id}</small></td><td class="mono">${t.Scope}</td><td>${t.State}</td>
          <td>${minuteOf(t.Expires) || 'never'}</td><td title=${t['Last address']}>${minuteOf(t['Last used'])}</td><td>${t.Note}</td>
          <td class="r"><${Do} what="Rotate…" of=${t.Token} onDo=${() => onAct('rotate', t.Token)} />
            <${Do} what="Drop…" of=${t.Token} onDo=${() => onAct('dropToken', t.Token)} /></td></tr>`,
      )}</tbody></table></div>`
    }
    ${access.tokens.value.value && all.length === 0 && html`<p class="quiet none">There is no token.</p>`}`;
}

/** @param {{title: string, latest: import('../stores/latest.js').Latest<any>, children?: unknown}} props */
function ListHead({ title, latest, children }) {
  const count = latest.value.value?.length ?? 0;
  return html`<h3 class="head">${title}<span class="quiet">${count >= mostListed && `the first ${mostListed}`}</span><span class="grow"></span>${children}</h3>
    <${ErrorPanel} latest=${latest} what=${`Asking for ${title.toLowerCase()}`} />`;
}

/** @param {{id: string, target: string, stores: import('../main.js').Stores, onRun: (statement: string, shown: string, values: Values) => unknown, onClose: () => void}} props */
function AccessForm({ id, target, stores, onRun, onClose }) {
  const { access, tables, pipelineList } = stores;
  const action = accessActions[id];
  useEffect(() => void pipelineList.load(), []);
  const known = { tables: tables.all.value, pipelines: (pipelineList.list.value.value ?? []).map((p) => p.name) };
  const names = known.tables.filter((t) => t.db !== 'svc_private').map((t) => `${t.db}.${t.name}`);
  const others = id === 'grant' ? [...known.pipelines.map((name) => `PIPELINE ${name}`), 'CLUSTER'] : [];
  const proposals = ['public.*', ...names.slice(0, mostListed), ...others];
  const loaded = tables.latest.value.value !== null && pipelineList.list.value.value !== null;
  const remark = (/** @type {Values} */ values) => (loaded && values.on ? missingTarget(values.on, known) : '');
  const roles = (access.roles.value.value ?? []).map((r) => r.Role).filter((r) => r !== target);
  const shown = (/** @type {Values} */ values) => action.statement(target, hidePasswords(action, values));
  return html`<${StatementForm} name=${action.name} says=${action.says} asks=${action.asks} word=${action.typed ? target : ''}
    choices=${{ privileges, role: roles, scope: scopes, lifetime: lifetimes }} patterns=${{ target: targetPattern }}
      proposals=${{ target: proposals }} remark=${remark} initial=${{ expires: '90d' }}
    statement=${shown} latest=${access.action}
      onRun=${(/** @type {Values} */ values) => onRun(action.statement(target, values), shown(values), values)} onClose=${onClose} />`;
}

/** The secret of a new token, which nobody can see again. @param {{of: Entry, values: Values, onClose: () => void}} props values: those of the form; without a target, the token is not new */
function Secret({ of, values, onClose }) {
  const command = values.on ? tokenCommand(location.origin, values, of.Token) : '';
  const taken = useRef(false); // copied, by a button or as selected text
  const [asks, setAsks] = useState(false);
  const close = () => (taken.current ? onClose() : setAsks(true));
  async function copy(/** @type {string} */ text) {
    taken.current = (await copyText(text)) || taken.current;
    setAsks(asks && !taken.current);
  }
  return html`<${Dialog} title=${`Token ${of.Name}`} onClose=${close} stays>
    <div onCopy=${() => (taken.current = true)}><p>Copy the token now: the server stores only its hash and cannot show it again.</p>
    <pre class="asked" data-ui="secret">${of.Token}</pre>
    ${
      command &&
      html`<p>A command that ${values.scope === 'query' ? 'reads' : 'sends a row'} with it:</p>
      <pre class="asked" data-ui="token-command" tabindex="0">${command}</pre>`
    }
    <p class="acts"><button class="button main" data-ui="secret-copy" onClick=${() => copy(of.Token)}>Copy</button>
      ${command && html`<button class="button" onClick=${() => copy(command)}>Copy the command</button>`}
      <button class="button" data-ui="secret-done" onClick=${close}>Done</button></p>
    ${
      asks &&
      html`<p class="wrong" role="alert" data-ui="secret-asks">The token is not copied yet. <button class="text go" data-ui="secret-close"
      onClick=${onClose}>Close without it</button></p>`
    }</div><//>`;
}

/** @param {string} time in RFC 3339 */
const minuteOf = (time) => time.slice(0, 16).replace('T', ' ');
