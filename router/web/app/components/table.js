// One table: its size, its columns, its segments over time, its statement, and what can be done to it.

import { html, useEffect, useState } from '../../vendor/core.js';
import { formatBytes, formatCount, formatDuration, spacedTtl, valueText, visible } from '../lib/format.js';
import { formatTime } from '../lib/time.js';
import { formatPlace } from '../lib/url.js';
import { quoteName } from '../lib/sqlquote.js';
import { sqlPieces } from '../lib/sqltext.js';
import { copyText } from './copy.js';
import { Menu } from './menu.js';
import { ErrorPanel, Progress } from './states.js';
import { newestRows } from '../stores/table.js';
import { bytesOfRow } from '../stores/tables.js';
import { TableAction, useTableActions } from './tableactions.js';

/** @typedef {import('../stores/tables.js').TableInfo} TableInfo */

/** @param {{db: string, name: string, info: TableInfo | undefined, stores: import('../main.js').Stores, onClose: () => void}} props */
export function TableDetail({ db, name, info, stores, onClose }) {
  const { table, prefs, signIn } = stores;
  const [doing, setDoing] = useState('');
  useEffect(() => void table.load(db, name), [db, name]);
  const details = table.latest.value.value;
  const zone = prefs.zone.value;
  const system = db === 'svc_private' || db === 'information_schema';
  const actions = useTableActions(signIn, db, name);
  return html`<section class="pane detail tabledetail" aria-label=${`Table ${db}.${name}`} data-ui="detail">
    <div class="head"><h2 class="mono">${db}.${name}</h2><span class="grow"></span>
      ${
        !system &&
        actions.length > 0 &&
        html`<${Menu} button=${html`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${(
          /** @type {() => void} */ close,
        ) =>
          actions.map(
            ({ id, name: action }) =>
              html`<button class="choice" data-ui=${`do-${id}`} onClick=${() => {
                close();
                setDoing(id);
              }}>${action}</button>`,
          )}<//>`
      }
      <button class="text" aria-label="Close" onClick=${onClose}>✕</button></div>
    <${Progress} since=${table.latest.since.value} onCancel=${table.latest.cancel} />
    <div class="scrolled">
      ${info && html`<${Facts} info=${info} lastRow=${details?.fields ? (details.lastRow ?? 'none') : ''} zone=${zone} />`}
      <p class="acts"><a class="text go" href=${formatPlace('explore', { db, t: name }, { db: 'public' })}>Explore</a>
        <a class="text go" href=${formatPlace('tail', { db, t: name }, { db: 'public' })}>Tail</a>
        <a class="text go" href=${formatPlace('sql', { db, q: `SELECT * FROM ${quoteName(name)} LIMIT 100` }, { db: 'public' })}>SQL</a></p>
      <${ErrorPanel} latest=${table.latest} what="Asking for the table" />
      ${
        details &&
        html`${details.refused.map(({ what, error }) => html`<p class="quiet none" data-ui="refused">${what} not shown: ${error.message}</p>`)}
        ${details.fields && html`<${Columns} fields=${details.fields} rows=${details.rows} />`}
        ${details.segments && html`<${Segments} segments=${details.segments} zone=${zone} />`}
        ${details.ddl !== null && html`<${Statement} ddl=${details.ddl} />`}`
      }
    </div>
    ${doing && html`<${TableAction} id=${doing} db=${db} name=${name} info=${info} fields=${details?.fields ?? []} stores=${stores} onClose=${() => setDoing('')} />`}
  </section>`;
}

/** @param {{ddl: string}} props */
function Statement({ ddl }) {
  return html`<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${() => copyText(ddl)}>Copy</button></h3>
    <pre class="ddl" data-ui="ddl">${sqlPieces(ddl).map((part) => (part.kind === 'key' ? html`<b>${part.text}</b>` : part.text))}</pre>`;
}

/** @param {{info: TableInfo, lastRow: string, zone: string}} props lastRow: a time, none, or empty if it is not known */
function Facts({ info, lastRow, zone }) {
  const facts = [
    ['rows', info.sized && formatCount(info.rows)],
    ['bytes', info.sized && `${formatBytes(info.bytes)}${info.rows > 0 ? `, ${formatBytes(bytesOfRow(info))} a row` : ''}`],
    ['in object storage', info.bucket > 0 && `${formatBytes(info.bucket)}${info.waiting > 0 ? `, ${formatBytes(info.waiting)} not yet` : ''}`],
    ['kept for', spacedTtl(info.ttl)],
    ['shards', info.shards.join(', ')],
    [
      'newest row',
      /^\d/.test(lastRow) ? `${formatTime(lastRow, zone)}, ${formatDuration(Math.max(0, Date.now() - new Date(lastRow).getTime()))} ago` : lastRow,
    ],
    ['created', info.created.slice(0, 10)],
    ['options', info.options],
  ];
  return html`<dl>${facts.map(([name, value]) => value && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** @param {{fields: import('../stores/explore.js').Field[], rows: any[]}} props */
function Columns({ fields, rows }) {
  return html`<h3 class="head">Columns<span class="quiet">${formatCount(fields.length)}; of the newest 1,000 rows: how many have a value</span></h3>
    <div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th>
      <th class="r">filled</th><th>newest values</th></tr></thead>
    <tbody>${fields.map((f) => {
      const values = [...new Set(rows.map((row) => valueText(row.v[f.name])).filter(Boolean))].slice(0, 3);
      return html`<tr><td>${f.name}${f.role && html`<small>${f.role}</small>`}</td><td>${f.type}</td><td>${f.index ?? ''}</td>
        <td class="r">${Math.round(f.fill * 100)} %</td><td class="samples" title=${values.join(', ').slice(0, 500)}>
          ${
            values.length === 0 && f.fill > 0
              ? html`<span
          class="quiet">none in the newest ${newestRows} rows</span>`
              : visible(values.join(', ').slice(0, 120))
          }</td></tr>`;
    })}</tbody></table></div>`;
}

/**
 * The segments over time: where rows are, and how full.
 * @param {{segments: import('../stores/table.js').Segment[], zone: string}} props
 */
function Segments({ segments, zone }) {
  if (segments.length === 0) {
    return html`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;
  }
  const begin = Math.min(...segments.map((s) => Date.parse(s.from)));
  const end = Math.max(...segments.map((s) => Date.parse(s.to)));
  const most = Math.max(...segments.map((s) => s.rows));
  const place = (/** @type {string} */ time) => (end > begin ? ((Date.parse(time) - begin) / (end - begin)) * 100 : 0);
  const bytes = segments.reduce((sum, s) => sum + s.bytes, 0);
  return html`<h3 class="head">Segments<span class="quiet">${formatCount(segments.length)}, ${formatBytes(bytes)}</span></h3>
    <div class="segments" role="img"
      aria-label=${`Segments from ${formatTime(segments[segments.length - 1].from, zone)} to ${formatTime(segments[0].to, zone)}`}>${segments.map(
        (s) => html`<i key=${s.file} title=${`${formatCount(s.rows)} rows, ${formatBytes(s.bytes)}, ${formatTime(s.from, zone)} – ${formatTime(s.to, zone)}`}
        style=${{ left: `${place(s.from)}%`, width: `max(2px, ${place(s.to) - place(s.from)}%)`, height: `${Math.max(4, (s.rows / most) * 40)}px` }}></i>`,
      )}</div>
    <p class="segmentaxis"><span>${formatTime(new Date(begin).toISOString(), zone)}</span><span>${formatTime(new Date(end).toISOString(), zone)}</span></p>`;
}
