// Selects the columns of an answer to draw, and computes their points.

/**
 * @typedef {{name: string, type: string}} Column
 * @typedef {{x: number, y: number, series: number}} Axes the places of the columns; series: -1 without one
 * @typedef {{name: string, points: [number, number][]}} Series
 */

const isTime = (/** @type {Column} */ c) => /^(Timestamp|Date)/.test(c.type);
const isNumber = (/** @type {Column} */ c) => /^(U?Int|Float|Decimal)/.test(c.type);

const mostSeries = 12;

/**
 * Guesses what is drawn: the first time, else the first column, along; the first number up; the first text apart.
 * @param {Column[]} columns
 * @returns {Axes | null} null: there is no number
 */
export function guessAxes(columns) {
  const time = columns.findIndex(isTime);
  const y = columns.findIndex((c, i) => isNumber(c) && i !== time && (time >= 0 || i > 0 || columns.length === 1));
  if (y < 0) return null;
  const x = time >= 0 ? time : columns.findIndex((_, i) => i !== y);
  const series = columns.findIndex((c, i) => i !== x && i !== y && !isNumber(c) && !isTime(c));
  return { x: x < 0 ? y : x, y, series };
}

/**
 * Makes series of the rows. Along are times in milliseconds, numbers, or places of texts in their order.
 * @param {{columns: Column[], rows: unknown[][]}} answer
 * @param {Axes} axes
 * @returns {{series: Series[], labels: string[] | null, time: boolean, left: number}} labels: of texts along; left: series left out
 */
export function seriesOf({ columns, rows }, { x, y, series }) {
  const along = columns[x];
  const time = isTime(along);
  const text = !time && !isNumber(along);
  /** @type {Map<string, number>} */
  const labels = new Map();
  /** @type {Map<string, [number, number][]>} */
  const byName = new Map();
  for (const row of rows) {
    const value = Number(row[y]);
    if (row[y] === null || row[x] === null || !Number.isFinite(value)) continue;
    const name = series >= 0 ? String(row[series] ?? 'null') : columns[y].name;
    const label = String(row[x]);
    if (text && !labels.has(label)) labels.set(label, labels.size);
    const at = text ? Number(labels.get(label)) : time ? msOf(row[x], along.type) : Number(row[x]);
    if (!byName.has(name)) byName.set(name, []);
    byName.get(name)?.push([at, value]);
  }
  const list = [...byName].map(([name, points]) => ({ name, points: points.sort((a, b) => a[0] - b[0]) }));
  return { series: list.slice(0, mostSeries), labels: text ? [...labels.keys()] : null, time, left: Math.max(0, list.length - mostSeries) };
}

const perMs = /** @type {Record<string, number>} */ ({ TimestampSecond: 0.001, TimestampMillisecond: 1, TimestampMicrosecond: 1e3, TimestampNanosecond: 1e6 });

/**
 * @param {unknown} value
 * @param {string} type
 */
function msOf(value, type) {
  const unit = perMs[type];
  return unit ? Number(value) / unit : Date.parse(String(value));
}

/**
 * Puts each series on those before it, at the points that it has.
 * @param {Series[]} series
 * @returns {Series[]}
 */
export function stacked(series) {
  /** @type {Map<number, number>} */
  const below = new Map();
  return series.map(({ name, points }) => ({
    name,
    points: points.map(([x, y]) => {
      const top = (below.get(x) ?? 0) + y;
      below.set(x, top);
      return /** @type {[number, number]} */ ([x, top]);
    }),
  }));
}

/**
 * Round numbers from low to high, about so many.
 * @param {number} low
 * @param {number} high
 * @param {number} count
 */
export function roundTicks(low, high, count) {
  const span = high - low || 1;
  const size = 10 ** Math.floor(Math.log10(span / count));
  const step = [1, 2, 5, 10].map((n) => n * size).find((s) => span / s <= count) ?? size * 10;
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step / 1e6; t += step) ticks.push(Number(t.toPrecision(12)));
  return ticks;
}
