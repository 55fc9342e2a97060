// Times: stored and sent as text in UTC with nine digits, shown in one zone. A Date has three digits; the others
// are kept as text.

import { formatDuration } from './format.js';

/** The zone of the browser. */
export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** @param {string} zone */
function formatIn(zone) {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    formats.set(zone, format);
  }
  return format;
}

/**
 * Splits a time into what is written of it in a zone.
 * @param {string | number | Date} time RFC 3339, or milliseconds
 * @param {string} zone
 * @returns {{date: string, time: string, fraction: string}}
 */
export function partsOfTime(time, zone) {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return { date: '', time: String(time), fraction: '' };
  /** @type {Record<string, string>} */
  const of = {};
  for (const part of formatIn(zone).formatToParts(at)) of[part.type] = part.value;
  const fraction = typeof time === 'string' ? (/\.(\d+)/.exec(time)?.[1] ?? '') : String(at.getMilliseconds()).padStart(3, '0');
  return {
    date: `${of.year}-${of.month}-${of.day}`,
    time: `${of.hour}:${of.minute}:${of.second}`,
    fraction: fraction && fraction.padEnd(Math.ceil(fraction.length / 3) * 3, '0').replace(/(?<=.{3})(000)+$/, ''),
  };
}

/**
 * Writes a time with its date, to the second.
 * @param {string | number | Date} time
 * @param {string} zone
 */
export function formatTime(time, zone) {
  const parts = partsOfTime(time, zone);
  return parts.date ? `${parts.date} ${parts.time}` : parts.time;
}

/**
 * Describes a moment in all forms that somebody may need: in the zone, in UTC, how long ago, and since 1970.
 * @param {string} time RFC 3339
 * @param {string} zone
 * @param {number} [now]
 * @param {string} [selected] the time of the row that is open
 */
export function describeTime(time, zone, now = Date.now(), selected = '') {
  const at = partsOfTime(time, zone);
  const ms = new Date(time).getTime();
  if (!at.date) return time;
  const nanos = BigInt(Math.floor(ms / 1000)) * 1_000_000_000n + BigInt((/\.(\d+)/.exec(time)?.[1] ?? '').slice(0, 9).padEnd(9, '0'));
  const ago = now - ms;
  const apart = selected && selected !== time ? ms - new Date(selected).getTime() : NaN;
  const local = `${at.date} ${at.time}${at.fraction && `.${at.fraction}`} ${zone} (UTC${offsetText(offsetOf(ms, zone))})`;
  return [
    local,
    ...(zone === 'UTC' ? [] : [time]),
    `${formatDuration(Math.abs(ago))} ${ago < 0 ? 'from now' : 'ago'}`,
    ...(Number.isNaN(apart) ? [] : [`${formatDuration(Math.abs(apart))} ${apart < 0 ? 'before' : 'after'} the open row`]),
    `${nanos} ns since 1970`,
  ].join('\n');
}

/** @param {number} ms how far a zone is ahead of UTC */
function offsetText(ms) {
  const minutes = Math.abs(ms) / 60e3;
  const two = (/** @type {number} */ n) => String(Math.floor(n)).padStart(2, '0');
  return `${ms < 0 ? '−' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

const unitMs = /** @type {Record<string, number>} */ ({ s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3 });

/**
 * Reads -90m, -2h30m or 90 m as milliseconds.
 * @param {string} text
 * @returns {number | null}
 */
export function parseSpan(text) {
  const rest = text.trim().replace(/^[-−]/, '');
  if (!/^(\d+(\.\d+)?\s*(w|d|h|m|min|s)\s*)+$/.test(rest)) return null;
  let ms = 0;
  for (const [, n, unit] of rest.matchAll(/(\d+(?:\.\d+)?)\s*(w|d|h|min|m|s)/g)) ms += Number(n) * unitMs[unit[0]];
  return ms;
}

/**
 * Reads an end of a range: -90m, now, today, yesterday, an epoch, RFC 3339, or a time of the zone without an offset.
 * @param {string} text
 * @param {string} zone
 * @param {Date} now
 * @returns {string | null} -1h as it is, else RFC 3339 in UTC; empty for now; null if it is no time
 */
export function parseTime(text, zone, now) {
  text = text.trim();
  if (text === '' || text === 'now') return '';
  const span = parseSpan(text);
  if (span !== null) return formatSpan(span);
  const day = ['today', 'yesterday'].indexOf(text.toLowerCase());
  if (day >= 0) {
    const { date } = partsOfTime(new Date(now.getTime() - day * 86400e3), zone);
    return inZone(`${date}T00:00:00`, zone);
  }
  if (/^\d{10}(\d{3}|\d{6}|\d{9})?$/.test(text)) return new Date(Number(text.slice(0, 13).padEnd(13, '0'))).toISOString();
  const match = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?))?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(text);
  if (!match) return null;
  const local = `${match[1]}T${(match[2] ?? '00:00').replace(',', '.').padEnd(8, ':00')}`;
  const out = match[3] ? new Date(local + match[3].toUpperCase()) : null;
  if (out) return Number.isNaN(out.getTime()) ? null : out.toISOString();
  return inZone(local, zone);
}

/**
 * Reads an end of a range in an address, where it means the same to every reader: -90m, now, or a time with its offset.
 * @param {string} text
 * @returns {string | null} as parseTime
 */
export function parseEnd(text) {
  if (text === '' || text === 'now') return '';
  const span = parseSpan(text);
  if (span !== null) return formatSpan(span);
  const match = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.exec(text);
  if (!match || Number.isNaN(Date.parse(text))) return null;
  return match[1] ? text : new Date(text).toISOString();
}

/**
 * Reports whether a range ends before it begins, or where it begins.
 * @param {string} from as parseTime answers it; empty: now
 * @param {string} to
 * @param {Date} now
 */
export function isSwapped(from, to, now) {
  const moment = (/** @type {string} */ end) =>
    end === '' ? now.getTime() : parseSpan(end) !== null ? now.getTime() - Number(parseSpan(end)) : Date.parse(end);
  return moment(from) >= moment(to);
}

/** The moment an hour before an end of a range, written like that end. @param {string} end as parseTime answers it, not now */
export function hourBefore(end) {
  const span = parseSpan(end);
  return span !== null ? formatSpan(span + unitMs.h) : new Date(Date.parse(end) - unitMs.h).toISOString();
}

/**
 * Reads a time without an offset as one of a zone.
 * @param {string} local
 * @param {string} zone
 */
function inZone(local, zone) {
  const asUTC = new Date(`${local}Z`).getTime();
  if (Number.isNaN(asUTC)) return null;
  let at = asUTC - offsetOf(asUTC, zone);
  at = asUTC - offsetOf(at, zone); // the offset of that moment, if it changed in between
  return new Date(at).toISOString();
}

/**
 * Returns how far a zone is ahead of UTC, in milliseconds.
 * @param {number} at
 * @param {string} zone
 */
export function offsetOf(at, zone) {
  const parts = partsOfTime(at, zone);
  return new Date(`${parts.date}T${parts.time}Z`).getTime() - Math.floor(at / 1000) * 1000;
}

/**
 * Writes a span as the API takes it: -90m.
 * @param {number} ms
 */
export function formatSpan(ms) {
  for (const unit of ['d', 'h', 'm']) {
    if (ms % unitMs[unit] === 0) return `-${ms / unitMs[unit]}${unit}`;
  }
  return `-${Math.round(ms / 1e3)}s`;
}

/**
 * Moves a range by its own length, or makes it longer or shorter around its middle.
 * @param {{from: string, to: string}} range RFC 3339
 * @param {number} by lengths that it is moved; 0: not
 * @param {number} [times] its new length
 */
export function shiftRange({ from, to }, by, times = 1) {
  const [begin, end] = [new Date(from).getTime(), new Date(to).getTime()];
  const length = (end - begin) * times;
  const middle = (begin + end) / 2 + by * (end - begin);
  return { from: new Date(middle - length / 2).toISOString(), to: new Date(middle + length / 2).toISOString() };
}

/** The ranges that are one click away. */
export const quickRanges = ['-5m', '-15m', '-1h', '-3h', '-12h', '-1d', '-2d', '-7d', '-30d'];

/**
 * Says a range in words.
 * @param {string} from
 * @param {string} to
 * @param {string} zone
 */
export function rangeText(from, to, zone) {
  const span = parseSpan(from);
  if (span !== null && to === '') {
    const names = /** @type {[number, string][]} */ ([
      [86400e3, 'day'],
      [3600e3, 'hour'],
      [60e3, 'minute'],
      [1e3, 'second'],
    ]);
    const [size, name] = names.find(([size]) => span % size === 0) ?? [1e3, 'second'];
    return span === size ? `Last ${name}` : `Last ${span / size} ${name}s`;
  }
  const end = (/** @type {string} */ t) => (t === '' ? 'now' : parseSpan(t) !== null ? t : formatTime(t, zone));
  const a = end(from);
  const b = end(to);
  return `${a} – ${a.slice(0, 11) === b.slice(0, 11) ? b.slice(11) : b}`;
}
