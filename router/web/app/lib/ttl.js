// How long rows are kept, as the server reads and writes it: 12h, 7d, 1year 30days, forever.

const second = 1e3;
const day = 86400 * second;
const year = 365.25 * day;

const units = /** @type {Record<string, number>} */ ({
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: second,
  m: 60 * second,
  h: 3600 * second,
  d: day,
  w: 7 * day,
  M: 2630016 * second,
  y: year,
});
const longNames = /** @type {Record<string, string>} */ ({
  sec: 's',
  second: 's',
  min: 'm',
  minute: 'm',
  hr: 'h',
  hour: 'h',
  day: 'd',
  wk: 'w',
  week: 'w',
  month: 'M',
  yr: 'y',
  year: 'y',
});

/**
 * Reads a ttl as milliseconds. Infinity: rows are kept forever; NaN: the server does not read it.
 * @param {string} text
 */
export function parseTTL(text) {
  const trimmed = text.trim();
  if (/^(|0|forever)$/i.test(trimmed)) return Infinity;
  if (/^instant$/i.test(trimmed)) return 0;
  if (!/^(\d+\s*[A-Za-z]+\s*)+$/.test(trimmed)) return NaN;
  let sum = 0;
  for (const [, n, unit] of trimmed.matchAll(/(\d+)\s*([A-Za-z]+)/g)) {
    const ms = units[unit] ?? units[longNames[unit] ?? longNames[unit.replace(/s$/, '')]];
    if (ms === undefined) return NaN;
    sum += Number(n) * ms;
  }
  return sum || Infinity; // a sum of zero is forever
}
