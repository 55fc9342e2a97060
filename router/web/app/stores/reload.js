// What survives a reload of the page: the search that was typed and not run, and the row at the top of the list. Both
// belong to one search: another one begins without them.

/** @typedef {ReturnType<typeof createReload>} Reload */

/**
 * @param {Pick<Storage, 'getItem' | 'setItem'> | undefined} storage of this tab
 * @param {() => string} search what the page shows
 * @param {string} [prefix] of the names in the storage
 */
export function createReload(storage, search, prefix = 'cordwood') {
  /** @type {Record<string, string | null>} */
  const before = { draft: read('draft'), top: read('top') };

  /** @param {string} name */
  function read(name) {
    try {
      const [of, value] = JSON.parse(storage?.getItem(`${prefix}.${name}`) ?? '[]');
      return of === search() && typeof value === 'string' ? value : null;
    } catch {
      return null; // storage is switched off, or what is there is of another version
    }
  }

  return {
    /** Begins as after a reload: the reader comes back from another page. */
    comeBack() {
      before.draft = read('draft');
      before.top = read('top');
    },
    /** @param {'draft' | 'top'} name @param {string} value */
    keep(name, value) {
      try {
        storage?.setItem(`${prefix}.${name}`, JSON.stringify([search(), value]));
      } catch {
        // storage is full or switched off
      }
    },
    /** Returns what was kept before the reload, once; null: nothing. @param {'draft' | 'top'} name */
    take(name) {
      const value = before[name];
      before[name] = null;
      return value;
    },
  };
}
