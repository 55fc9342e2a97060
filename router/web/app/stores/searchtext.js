// The text in the search box of Explore: what is typed, and what clicks make of it.

import { computed, effect, signal, untracked } from '../../vendor/core.js';
import { toggleAny, toggleClause, toggleExclusion } from '../lib/edit.js';
import { levelNames, levelsOf, toggleLevel } from '../lib/leveledit.js';
import { levelOf } from '../lib/levels.js';
import { parseSearch } from '../lib/search.js';

/**
 * The text in the box. It may differ from the search that runs.
 * @param {{value: {q: string}}} state
 * @param {import('./reload.js').Reload} reload keeps it across a reload of the page
 */
export function createDraft(state, reload) {
  const draft = signal(state.value.q);
  let under = state.value.q; // the search over which it was written
  effect(() => {
    const text = draft.value;
    untracked(() => reload.keep('draft', text)); // another address does not make it the text of another search
  });

  return {
    draft,
    /** Puts the search that runs into the box. What a reader has typed over the same search stays. */
    begin() {
      const kept = reload.take('draft');
      if (kept !== null) draft.value = kept;
      else if (state.value.q !== under) draft.value = state.value.q;
      under = state.value.q;
      reload.keep('draft', draft.value);
    },
  };
}

/**
 * The clicks that change the search: each edits what is typed, if that is a search, and runs it.
 * @param {object} with_
 * @param {{value: {q: string, row: string}}} with_.state
 * @param {{value: string}} with_.draft
 * @param {{value: import('../lib/line.js').Shape}} with_.shape
 * @param {{value: {name: string, role: string | null}[]}} with_.fields
 * @param {(text: string, also?: {view?: string, row?: string}) => Promise<void> | undefined} with_.search
 */
export function createClicks({ state, draft, shape, fields, search }) {
  const levelsBy = computed(() => levelNames(shape.value, fields.value));
  const text = () => (parseSearch(draft.value).fault ? state.value.q : draft.value);

  return {
    /** @param {string} clause @param {{view?: string, row?: string}} [also] what changes with it */
    only: (clause, also) => search(toggleClause(text(), clause), also),
    /** Only rows with a value of the row that is open, which stays open. @param {string} clause */
    onlyLikeOpened: (clause) => search(toggleClause(text(), clause), { row: state.value.row }),
    /** @param {string} clause */
    without: (clause) => search(toggleExclusion(text(), clause)),
    /** Any of these. @param {string} field @param {string} value */
    either(field, value) {
      const names = levelsBy.value;
      if (!names.includes(field)) return search(toggleAny(text(), field, value, '='));
      const level = levelOf(value, shape.value.scheme);
      return search(level === 'other' ? toggleAny(text(), field, value, ':') : toggleLevel(text(), names, value, level));
    },
    /** The levels that the search asks for, or leaves out. */
    levels: computed(() => levelsOf(state.value.q, levelsBy.value)),
  };
}
