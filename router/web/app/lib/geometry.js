// The positions of the bars and times of a histogram.

/** @typedef {{start: string, step: number | string, times: string[], series: {value: unknown, other?: boolean, counts: number[]}[], total: number, exact: boolean, cut?: {first: boolean, last: boolean}}} Hits */

/**
 * Returns heights of the series of each bar, from the bottom, in pixels. A bar that is not empty has one at least.
 * @param {number[][]} series counts of each series, by bucket
 * @param {number} height
 * @returns {number[][]} by bucket: where each series ends
 */
export function stackBars(series, height) {
  const buckets = series[0]?.length ?? 0;
  let most = 0;
  for (let b = 0; b < buckets; b++) most = Math.max(most, sum(series, b));
  const bars = [];
  for (let b = 0; b < buckets; b++) {
    const ends = [];
    let at = 0;
    for (const counts of series) {
      if (counts[b] > 0) at += Math.max(1, (counts[b] / most) * height);
      ends.push(Math.min(height, Math.round(at)));
    }
    bars.push(ends);
  }
  return bars;
}

/**
 * @param {number[][]} series
 * @param {number} bucket
 */
function sum(series, bucket) {
  return series.reduce((total, counts) => total + counts[bucket], 0);
}

const labelWidth = 46; // of a time without a date; at the right edge it would be cut

/**
 * Returns the times that are written below a histogram, at round times of the zone: about one in 130 pixels, and more
 * on a phone if they have no dates.
 * @param {number} from
 * @param {number} to in milliseconds
 * @param {number} width in pixels
 * @param {(at: number) => number} offset of the zone
 * @returns {{at: number, share: number}[]}
 */
export function axisTicks(from, to, width, offset) {
  const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  const most = Math.max(2, Math.floor(width / (width < 600 && to - from < 86400e3 ? 66 : 130)));
  const step = (steps.find((s) => (to - from) / 1000 / s <= most) ?? 2592000) * 1000;
  const ticks = [];
  const shift = offset(from);
  for (let at = Math.ceil((from + shift) / step) * step - shift; at < to && ticks.length < 40; at += step) {
    const share = (at - from) / (to - from);
    if ((1 - share) * width >= labelWidth) ticks.push({ at, share });
  }
  return ticks;
}
