// The samples of pipelines that this browser keeps.

const keyOf = (/** @type {string} */ pipeline) => `cordwood.samples.${pipeline}`;

/**
 * @param {Pick<Storage, 'getItem'>} storage
 * @param {string} pipeline
 * @returns {string[]}
 */
export function keptSamples(storage, pipeline) {
  try {
    const lines = JSON.parse(storage.getItem(keyOf(pipeline)) ?? '[]');
    return Array.isArray(lines) ? lines.filter((line) => typeof line === 'string') : [];
  } catch {
    return [];
  }
}

/**
 * @param {Pick<Storage, 'setItem' | 'removeItem'>} storage
 * @param {string} pipeline
 * @param {string[] | null} lines null: forget them
 */
export function keepSamples(storage, pipeline, lines) {
  try {
    if (lines) storage.setItem(keyOf(pipeline), JSON.stringify(lines));
    else storage.removeItem(keyOf(pipeline));
  } catch {
    // storage is full or switched off
  }
}
