// Add data: the configuration of a sender for this server, and a check that waits for the first row.

import { html, useEffect, useMemo, useRef, useState } from '../../vendor/core.js';
import { copyText } from '../components/copy.js';
import { useIgnored } from '../components/ignored.js';
import { useMay } from '../components/may.js';
import { useNarrow } from '../components/narrow.js';
import { RejectList } from '../components/rejectlist.js';
import { Rows } from '../components/rows.js';
import { useNow } from '../components/states.js';
import { formatBytes, formatCount, formatRows, shellQuoted, visible } from '../lib/format.js';
import { openPort, senders, wrongName } from '../lib/senders.js';
import { shapeOf } from '../lib/shape.js';
import { tableTarget } from '../lib/sqlquote.js';
import { formatPlace, unknownParts } from '../lib/url.js';
import { createLatest, clock } from '../stores/latest.js';

const parameters = { db: null, t: null, pipeline: null, sender: (/** @type {string} */ id) => senders.some((s) => s.id === id) };

/** @param {{stores: import('../main.js').Stores}} props */
export function AddPage({ stores }) {
  const { adding, place, signIn } = stores;
  const params = place.here.value.params;
  const sender = senders.find((s) => s.id === params.get('sender')) ?? senders[0];
  const all = stores.tables.all.value;
  const db = params.get('db') || 'public';
  const free = useMemo(() => freeName(all, db), [stores.tables.latest.value.value !== null, db]); // stays when its first rows create it
  const [table, pipeline] = [params.get('t') || free, params.get('pipeline') || 'svc_identity'];
  const info = all.find((t) => t.db === db && t.name === table);
  useIgnored(place.page.value === 'add' ? unknownParts(params, parameters) : []);
  useEffect(() => {
    document.title = 'Add data · cordwood';
  }, []);
  const wrongNames = wrongName({ db, table, pipeline });
  useEffect(() => {
    if (wrongNames) return undefined;
    const follow = () => {
      const { all, latest } = stores.tables;
      const fresh = latest.value.value && !all.value.some((t) => t.db === db && t.name === table);
      void adding.follow(db, table, { fresh: Boolean(fresh) });
    };
    const timer = setTimeout(follow, 300); // no request while a name is typed
    return () => {
      clearTimeout(timer);
      adding.stop();
    };
  }, [db, table, wrongNames === '']);

  const set = (/** @type {Record<string, string>} */ change) =>
    place.set('add', { sender: sender.id, t: table, db, pipeline, ...change }, { sender: 'curl', db: 'public', pipeline: 'svc_identity' }, { replace: true });
  const wrong = wrongNames || sender.lacks?.({ db, table, pipeline }) || '';
  const may = useMay(signIn, wrongNames ? [] : [['INSERT', tableTarget(db, table)]])?.[0] !== false;
  const text = wrong ? '' : sender.text({ origin: location.origin, db, table, pipeline, user: signIn.user.value });
  return html`<div class="scrolled add"><div class="state"><h1>Add data</h1>
      <span class="quiet" data-ui="add-effect">${
        info
          ? html`The table <b class="mono">
            ${table}</b> exists${info.sized && ` and has ${formatRows(info.rows)}`}: each new field becomes a column of it.`
          : 'The first rows create the table, with a column for each field.'
      }</span></div>
    ${!may && html`<p class="wrong none" data-ui="may-not">Your user may not store rows in ${table}: senders need another user or token.</p>`}
    <div class="asked-for">
      <label>Table<input data-ui="add-table" value=${table} onInput=${(/** @type {InputEvent} */ e) => set({ t: valueOf(e) })} /></label>
      <label>Pipeline<input list="pipelines" value=${pipeline} onInput=${(/** @type {InputEvent} */ e) => set({ pipeline: valueOf(e) })} /></label>
      <${PipelineNames} api=${stores.api} chosen=${pipeline} />
    </div>
    <div class="senders" role="toolbar" aria-label="Senders" onKeyDown=${moveFocus}>${senders.map(
      (s) =>
        html`<button class="text" tabindex=${s === sender ? 0 : -1} aria-pressed=${s === sender} data-ui=${`sender-${s.id}`}
          onClick=${() => set({ sender: s.id })}>${s.name}</button>`,
    )}</div>
    ${
      sender.port &&
      !wrong &&
      html`<${ServerPort} api=${stores.api} flag=${sender.port.flag}
      value=${sender.port.text({ origin: location.origin, db, table, pipeline, user: '' })} open=${!signIn.user.value} />`
    }
    <section class="snippet" aria-label=${sender.name}><div class="head"><h2>${sender.name}</h2><span class="quiet">${sender.file}</span><span class="grow"></span>
      ${!wrong && html`<button class="button" onClick=${() => copyText(text)}>Copy</button>`}</div>
      ${wrong ? html`<p class="wrong" role="alert" data-ui="wrong-name">${wrong}</p>` : html`<pre data-ui="snippet" tabindex="0">${text}</pre>`}
      ${sender.note && html`<p class="quiet none">${sender.note}</p>`}
      ${
        signIn.user.value &&
        html`<p
        class="quiet none">Set the variable CORDWOOD_PASSWORD to ${signIn.session.value?.auth === 'token' ? 'a token that may store rows' : `the password of ${signIn.user.value}`}.</p>`
      }</section>
    ${may && !wrongNames && html`<${FileDrop} adding=${adding} to=${{ db, table, pipeline }} />`}
    ${!wrongNames && html`<${FirstRows} stores=${stores} db=${db} table=${table} info=${info} />`}
    <${NewRejects} key=${`${db}.${table}`} stores=${stores} db=${db} table=${table} />
  </div>`;
}

/** Moves the focus among the senders by arrows, Home and End. @param {KeyboardEvent} event */
function moveFocus(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
  const list = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll('button')];
  const at = list.indexOf(/** @type {HTMLButtonElement} */ (event.target));
  if (!step || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  list[Math.max(0, Math.min(list.length - 1, at + step))].focus();
}

/**
 * Says whether the server listens at a port of the protocol, and how it is started so that it does.
 * @param {{api: import('../lib/api.js').Api, flag: string, value: string, open: boolean}} props
 *   open: the server has no users
 */
function ServerPort({ api, flag, value, open }) {
  const [config, setConfig] = useState('');
  useEffect(() => {
    api.send({ path: '/config', need: ['MONITOR', 'CLUSTER'] }).then(
      async (answer) => setConfig(await answer.text()),
      () => {}, // who may not see it is told what to start
    );
  }, []);
  const port = openPort(config, flag);
  const command = `cordwood serve --${flag} ${shellQuoted(value)}`;
  return html`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">
    ${port ? `It listens at ${port}. The address says of which table and pipeline.` : 'Start the server with this flag to use this protocol.'}</span>
    <span class="grow"></span>
      <button class="button" onClick=${() => copyText(command)}>Copy</button></div><pre tabindex="0">${command}</pre>
    ${
      open &&
      html`<p class="quiet none"
      data-ui="open-port">This server has no users, so everybody who reaches this port can store rows. Use the address 127.0.0.1, or a firewall.</p>`
    }</section>`;
}

/**
 * A name for a table that no other table of the database has, so that a trial does not change one that is in use.
 * @param {{db: string, name: string}[]} all
 * @param {string} db
 */
export function freeName(all, db) {
  const taken = new Set(all.filter((t) => t.db === db).map((t) => t.name));
  for (let n = 1; ; n++) {
    const name = n === 1 ? 'app' : `app${n}`;
    if (!taken.has(name)) return name;
  }
}

/** @param {Event} event */
function valueOf(event) {
  return /** @type {HTMLInputElement} */ (event.currentTarget).value.trim();
}

/** The names of the pipelines, as choices of the input, and whether the chosen one is among them. @param {{api: import('../lib/api.js').Api, chosen: string}} props */
function PipelineNames({ api, chosen }) {
  const [names, setNames] = useState(/** @type {string[] | null} */ (null));
  useEffect(() => {
    api.json({ path: '/v1/pipelines' }).then(
      (answer) => setNames(answer.pipelines.map((/** @type {{name: string}} */ p) => p.name)),
      () => {},
    );
  }, []);
  const unknown = names !== null && chosen !== 'svc_identity' && !names.includes(chosen);
  return html`<datalist id="pipelines">${['svc_identity', ...new Set(names ?? [])].map((name) => html`<option value=${name}></option>`)}</datalist>
    ${
      unknown &&
      html`<p class="wrong" role="status"
      data-ui="no-pipeline">You see no pipeline ${visible(chosen)}: if there is none, the server refuses rows for it. <a class="text go"
      href="/dashboard/pipelines?view=new">New pipeline</a></p>`
    }`;
}

/** @param {{adding: import('../main.js').Stores['adding'], to: {db: string, table: string, pipeline: string}}} props */
function FileDrop({ adding, to }) {
  const [over, setOver] = useState(false);
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const send = (/** @type {FileList | null | undefined} */ files) => files?.[0] && void adding.send(files[0], to);
  const state = adding.sending.value;
  return html`<section class=${`drop ${over ? 'over' : ''}`} aria-label="Send a file" data-ui="drop"
    onDragOver=${(/** @type {DragEvent} */ e) => {
      e.preventDefault();
      setOver(true);
    }}
    onDragLeave=${() => setOver(false)}
    onDrop=${(/** @type {DragEvent} */ e) => {
      e.preventDefault();
      setOver(false);
      send(e.dataTransfer?.files);
    }}>
    <p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${() => picker.current?.click()}>Choose a file</button>
      <input ref=${picker} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${(/** @type {Event} */ e) => {
        const input = /** @type {HTMLInputElement} */ (e.currentTarget);
        send(input.files);
        input.value = ''; // the same file can be chosen again
      }} /></p>
    ${
      state &&
      html`<p role="status">
        ${state.name}: ${formatBytes(state.sent)} of ${formatBytes(state.size)}, ${formatRows(state.rows)} stored${
          state.done ? (state.error ? `. ${state.error}` : ', done.') : '…'
        } ${!state.done && html`<button class="text go" data-ui="cancel" onClick=${adding.cancel}>Cancel</button>`}</p>
      <div class="bar" style=${{ '--p': `${state.size > 0 ? (state.sent / state.size) * 100 : 100}%` }}></div>
      ${
        state.refused > 0 &&
        html`<p class="wrong">
        ${formatCount(state.refused)} ${state.refused === 1 ? 'record was' : 'records were'} refused${state.refused > state.reasons.length && ', for example'}:</p>`
      }
      ${state.reasons.map((reason) => html`<p class="wrong">${visible(reason)}</p>`)}`
    }
  </section>`;
}

/** The first rows as they arrive. @param {{stores: import('../main.js').Stores, db: string, table: string, info: import('../stores/tables.js').TableInfo | undefined}} props */
function FirstRows({ stores, db, table, info }) {
  const { adding, api, prefs } = stores;
  const narrow = useNarrow();
  const [fields] = useState(() => createLatest(clock));
  const rows = adding.rows.value;
  const some = rows.length > 0;
  useEffect(() => {
    if (some) void fields.run((signal) => api.json({ path: '/v1/explore/fields', body: { db, tables: [table] }, signal }), `${db}.${table}`);
  }, [some, db, table]);
  if (!some)
    return html`<section class="first" aria-live="polite" data-ui="first-row"><${Waiting} key=${`${db}.${table}`} db=${db} table=${table} info=${info} /></section>`;
  const answer = fields.value.value;
  return html`<section class="first pane" aria-live="polite" data-ui="first-row">
    <div class="head"><h2>${formatRows(adding.count.value)} arrived in ${table}</h2>
      <span class="quiet">
        ${answer && `${answer.fields.length} fields: ${answer.fields.map((/** @type {{name: string}} */ f) => f.name).join(', ')}`}</span><span class="grow"></span>
      <a class="button main" href=${formatPlace('explore', { db, t: table }, { db: 'public' })}>Open in Explore</a></div>
    <${Rows} count=${rows.length} of=${rows} at=${(/** @type {number} */ i) => rows[i]} shape=${shapeOf(answer)} columns=${[]} marks=${null} zone=${prefs.zone.value}
      density=${prefs.density.value} narrow=${narrow} label=${`${rows.length} rows, newest last`} selected="" follow onOpen=${() => {}} /></section>`;
}

const patience = 10; // seconds
const rejectsEvery = 3000; // milliseconds
const minute = 60000;

/** The records that were rejected since the page began to wait, or shortly before. @param {{stores: import('../main.js').Stores, db: string, table: string}} props */
function NewRejects({ stores, db, table }) {
  const [latest] = useState(() => /** @type {import('../stores/latest.js').Latest<import('../stores/rejects.js').Reject[]>} */ (createLatest(clock)));
  useEffect(() => {
    const since = Date.now() - minute;
    const ask = () =>
      document.visibilityState === 'visible' && void latest.run((signal) => stores.rejects.newest({ db, table, since }, signal), `${db}.${table}`);
    ask();
    const timer = setInterval(ask, rejectsEvery);
    return () => {
      clearInterval(timer);
      latest.cancel();
    };
  }, [db, table]);
  const found = latest.value.value ?? [];
  // Who may not read the table of rejects is told nothing here: senders get the reasons in the answers.
  if (found.length === 0) return null;
  return html`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>
    ${found.length === 5 ? 'Newest rejected records' : `${formatCount(found.length)} rejected ${found.length === 1 ? 'record' : 'records'}`}</h2>
    <span class="grow"></span>
      <a class="text" href=${formatPlace('rejects', { t: table })}>All rejects of ${table}</a></div>
    <${RejectList} stores=${stores} rejects=${found} /></section>`;
}

/** @param {{db: string, table: string, info: import('../stores/tables.js').TableInfo | undefined}} props */
function Waiting({ db, table, info }) {
  const [began] = useState(Date.now());
  const now = useNow(1000);
  const seconds = Math.floor((now - began) / 1000);
  return html`<p><span class="dot waiting"></span> Waiting for ${info ? 'new rows' : 'the first row'} in <b class="mono">${table}</b>… ${seconds} s</p>
    ${
      info &&
      info.rows > 0 &&
      html`<p class="quiet"
      data-ui="rows-before">It has ${formatRows(info.rows)} from before. <a class="text go"
      href=${formatPlace('explore', { db, t: table }, { db: 'public' })}>Open in Explore</a></p>`
    }
    ${
      seconds >= patience &&
      html`<p class="quiet"
      data-ui="first-help">Nothing has arrived. If the server refuses a request, its answer says why. With <b
      class="mono">skip_error=true&on_reject=store</b> in the sender's address, refused records are kept and shown here.</p>`
    }`;
}
