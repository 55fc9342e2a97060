// The texts of pipelines that were not saved. Each tab of the browser keeps its own, so that no tab overwrites the text
// of another.

import { signal } from '../../vendor/core.js';

/** @typedef {{of: string, text: string, at: number}} Draft of: the version for which it was written; at: when it was changed */

const mostTabs = 8; // whose texts of one pipeline are kept

/**
 * @param {object} with_
 * @param {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} with_.storage of all tabs
 * @param {Pick<Storage, 'getItem' | 'setItem'>} with_.session of this tab, which survives a reload
 * @param {{now(): number}} with_.clock
 */
export function createDrafts({ storage, session, clock }) {
  let tab = session.getItem('cordwood.tab') || newTab();
  let name = ''; // the pipeline that is open
  let mine = /** @type {Draft | null} */ (null); // of this tab
  const other = signal(/** @type {(Draft & {tab: string}) | null} */ (null)); // the newest one of another tab

  function newTab() {
    const id = Math.random().toString(36).slice(2);
    session.setItem('cordwood.tab', id);
    return id;
  }

  const keyOf = (/** @type {string} */ of) => `cordwood.draft.${of}`;

  /** @param {string} of @returns {Record<string, Draft>} by tab */
  function all(of) {
    try {
      const kept = JSON.parse(storage.getItem(keyOf(of)) ?? '{}');
      return Object.fromEntries(Object.entries(kept).filter(([, draft]) => typeof draft?.text === 'string' && typeof draft.of === 'string'));
    } catch {
      return {};
    }
  }

  /** @param {string} of */
  function newestOther(of) {
    const list = Object.entries(all(of)).map(([id, draft]) => ({ ...draft, tab: id }));
    return list.filter((draft) => draft.tab !== tab && draft.text !== mine?.text).sort((a, b) => b.at - a.at)[0] ?? null;
  }

  /** @param {string} of @param {string} id @param {Draft | null} draft */
  function put(of, id, draft) {
    const list = Object.entries(all(of))
      .filter(([other]) => other !== id)
      .sort(([, a], [, b]) => b.at - a.at);
    const kept = draft ? [[id, draft], ...list].slice(0, mostTabs) : list;
    try {
      if (kept.length > 0) storage.setItem(keyOf(of), JSON.stringify(Object.fromEntries(kept)));
      else storage.removeItem(keyOf(of));
    } catch {
      // storage is full or switched off
    }
  }

  /** The text of this tab for a pipeline, which is open from now on. @param {string} of */
  function open(of) {
    name = of;
    mine = all(of)[tab] ?? null;
    other.value = newestOther(of);
    return mine;
  }

  /** Keeps the text of this tab; null: there is none any more. @param {{of: string, text: string} | null} draft */
  function write(draft) {
    mine = draft && { ...draft, at: clock.now() };
    put(name, tab, mine);
    other.value = newestOther(name);
  }

  /** The text of this tab for a pipeline was saved. @param {string} of */
  function saved(of) {
    if (of === name) write(null);
    else put(of, tab, null);
  }

  /** Removes the text of the other tab, which keeps it again if it is still open. */
  function dropOther() {
    if (other.value) put(name, other.value.tab, null);
    other.value = newestOther(name);
  }

  /** Another tab changed what is kept. @param {string | null} key */
  function changed(key) {
    if (key !== keyOf(name)) return;
    const kept = all(name)[tab];
    if (kept && kept.text !== mine?.text) tab = newTab(); // this tab is a copy of that one, and had its name
    if (mine && kept?.text !== mine.text) put(name, tab, mine);
    other.value = newestOther(name);
  }

  return {
    other,
    open,
    write,
    saved,
    dropOther,
    changed,
    /** Reports whether any tab keeps a text. @param {string} of */
    has: (of) => Object.values(all(of)).some((draft) => draft.text !== ''),
    /** Forgets the texts of all tabs. @param {string} of */
    forget: (of) => storage.removeItem(keyOf(of)),
  };
}
