// Sharing a search by a link, and keeping it under a name.

import { html, useEffect, useState } from '../../vendor/core.js';
import { visible } from '../lib/format.js';
import { rangeText } from '../lib/time.js';
import { longestAddress } from '../stores/place.js';
import { toast } from '../stores/toast.js';
import { copyText } from './copy.js';
import { Menu } from './menu.js';
import { ErrorPanel } from './states.js';

/** @param {{stores: import('../main.js').Stores, frozen: () => string}} props frozen: the address with the range on screen */
export function ShareMenu(props) {
  return html`<${Menu} button=${html`<span>Share</span>`} label="Share this search" ui="share" class="text change">
    ${(/** @type {() => void} */ close) => html`<${ShareChoices} ...${props} onDone=${close} />`}<//>`;
}

/** @param {Parameters<typeof ShareMenu>[0] & {onDone: () => void}} props */
export function ShareChoices({ stores, frozen, onDone }) {
  const { saved, explore, prefs } = stores;
  const { from, to } = explore.state.value;
  const moves = from.startsWith('-') || to.startsWith('-') || to === ''; // empty: now
  // Until the first rows are there, the range on screen is not known, and a link would hold the relative one.
  const unknown = explore.range.value === null && (explore.fields.error.value ?? explore.first.error.value) === null;

  /** @param {string} long */
  async function short(long) {
    try {
      const url = new URL(long);
      await copyText(url.origin + (await saved.shorten(url.pathname + url.search)));
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  }

  /** Copies a link, or the short one to it if it is long. @param {string} link */
  const copy = (link) => void (link.length > longestAddress ? short(link) : copyText(link));

  return html`<button class="choice" data-ui="copy-link" disabled=${unknown} onClick=${() => (onDone(), copy(frozen()))}>Copy link with these exact times</button>
    ${
      moves &&
      html`<button class="choice" data-ui="copy-moving"
      onClick=${() => (onDone(), copyText(location.href))}>Copy link to “${rangeText(from, to, prefs.zone.value)}”, which moves on</button>`
    }
    <button class="choice" data-ui="copy-short" disabled=${unknown} onClick=${() => (onDone(), void short(frozen()))}>Copy short link</button>`;
}

/**
 * What is saved under names: searches, or statements.
 * @param {{saved: import('../main.js').Stores['saved'], place: import('../main.js').Stores['place'], user: string, what?: string}} props
 *   user: who is signed in; without users everything is everybody's
 */
export function SavedMenu(props) {
  return html`<${Menu} button=${html`<span>Saved</span>`} label="Saved" ui="saved" class="text change">
    ${(/** @type {() => void} */ close) => html`<${SavedList} ...${props} onDone=${close} />`}<//>`;
}

/**
 * What is saved, to open and to remove.
 * @param {{saved: ReturnType<typeof import('../stores/saved.js').createSaved>, user: string, onOpen: (address: string) => void}} props
 */
export function SavedItems({ saved, user, onOpen }) {
  return html`<ul>${saved.list.value.value?.map(
    (s) => html`<li key=${`${s.owner} ${s.name}`}><button class="choice" data-ui="saved-search" onClick=${() => onOpen(s.value.address)}>
      ${visible(s.name)}<small>${s.owner && `${s.shared ? 'shared by ' : ''}${s.owner}`}</small></button>
        ${
          saved.seen(s.name, user) === s &&
          html`<button class="text" aria-label=${`Remove ${s.name}`}
          onClick=${() => void saved.remove(s).then((gone) => gone && toast(`${s.name} is removed.`))}>✕</button>`
        }</li>`,
  )}</ul>`;
}

/** @param {Parameters<typeof SavedMenu>[0] & {onDone: () => void}} props */
export function SavedList({ saved, place, user, what = 'search', onDone }) {
  const [name, setName] = useState('');
  const [shared, setShared] = useState(false);
  useEffect(() => {
    saved.changing.error.value = null;
    void saved.load();
  }, []);
  const list = saved.list.value.value;
  const known = saved.seen(name.trim(), user) !== undefined;

  /** @param {Event} event */
  async function save(event) {
    event.preventDefault();
    if (!(await saved.save(name.trim(), place.address(), shared, user))) return;
    toast(known ? `${name.trim()} is replaced.` : `Saved as ${name.trim()}.`);
    onDone();
  }

  return html`<${ErrorPanel} latest=${saved.list} what="Asking for what is saved" />
    ${list?.length === 0 && html`<p class="quiet">No ${what} is saved yet.</p>`}
    <${SavedItems} saved=${saved} user=${user} onOpen=${(/** @type {string} */ address) => (onDone(), place.go(address))} />
    <form onSubmit=${save}><label>Save this ${what} as<input data-ui="saved-name" required maxlength="128" pattern="[^\\/]+"
      title="A name without / and \\" value=${name}
      onInput=${(/** @type {InputEvent} */ e) => setName(/** @type {HTMLInputElement} */ (e.currentTarget).value)} /></label>
      ${user && html`<label class="check"><input type="checkbox" checked=${shared} onChange=${() => setShared(!shared)} /> others see it too</label>`}
      <${ErrorPanel} latest=${saved.changing} what="Changing what is saved" /><button class="button main" data-ui="save-search">
        ${known ? 'Replace' : 'Save'}</button></form>`;
}
