// The search text: a textarea over a coloured copy of its text, with completion of fields and values.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../../vendor/core.js';
import { formatCount, visible } from '../lib/format.js';
import { completionAt } from '../lib/complete.js';
import { parseSearch } from '../lib/search.js';
import { createUndo } from '../lib/undo.js';
import { drawHidden } from './hidden.js';
import { useNarrow } from './narrow.js';

/**
 * @typedef {{insert: string, text: string, note: string}} Choice
 *
 * @param {object} props
 * @param {string} props.text
 * @param {(text: string) => void} props.onText
 * @param {() => void} props.onRun
 * @param {{offset: number, length: number} | null} props.fault of the server, in bytes
 * @param {{name: string, type: string, fill: number}[]} props.fields
 * @param {(field: string, prefix: string) => Promise<{value: unknown, count: number}[]>} props.valuesOf
 * @param {string[]} props.history
 */
export function SearchBox({ text, onText, onRun, fault, fields, valuesOf, history }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [choices, setChoices] = useState(/** @type {{from: number, to: number, list: Choice[], at: number} | null} */ (null));
  const narrow = useNarrow();
  const parsed = parseSearch(text);
  const wrong = fault ? byteSpan(text, fault) : parsed.fault;
  const turn = useRef(0);
  const undo = useRef(createUndo(text)).current;
  // Not later than the text is shown: a key that undoes may follow at once.
  useLayoutEffect(() => undo.note(text), [text]);

  useEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = '0';
    element.style.height = `${Math.min(element.scrollHeight, 6 * 20 + 14)}px`;
  }, [text, narrow]);

  /** @param {string} typed */
  async function complete(typed) {
    const mine = ++turn.current;
    const element = area.current;
    if (!element || element.selectionStart !== element.selectionEnd) return setChoices(null);
    const want = completionAt(typed, element.selectionStart, fields);
    if (!want) return setChoices(null);
    if (want.field === undefined) return setChoices({ ...want, at: -1 });
    const values = await valuesOf(want.field, want.prefix).catch(() => []);
    if (mine !== turn.current) return undefined;
    const list = values.map(({ value, count }) => ({
      insert: want.write(String(value)),
      text: String(value),
      note: formatCount(count),
    }));
    return setChoices(list.length > 0 ? { from: want.from, to: want.to, list, at: -1 } : null);
  }

  /** @param {Choice} choice */
  function take(choice) {
    if (!choices) return;
    const changed = text.slice(0, choices.from) + choice.insert + text.slice(choices.to);
    const caret = choices.from + choice.insert.length;
    onText(changed);
    setChoices(null);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(caret, caret);
      if (choice.insert.endsWith(':')) void complete(changed);
    });
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const goes = undoOf(event);
    if (goes) {
      event.preventDefault();
      const before = undo[goes]();
      if (before !== null) onText(before);
      return setChoices(null);
    }
    const move = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (choices && move !== 0) {
      event.preventDefault();
      const n = choices.list.length;
      setChoices({ ...choices, at: (choices.at + move + n + (choices.at < 0 && move < 0 ? 1 : 0)) % n });
    } else if (choices && choices.at >= 0 && (event.key === 'Enter' || event.key === 'Tab')) {
      event.preventDefault();
      take(choices.list[choices.at]);
    } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      setChoices(null);
      turn.current++;
      onRun();
    } else if (event.key === 'Escape' && choices) {
      event.stopPropagation();
      setChoices(null);
    } else if (event.key === 'ArrowUp' && area.current?.selectionStart === 0 && history.length > 0) {
      event.preventDefault();
      const list = history.slice(0, 12).map((old) => ({ insert: old, text: old, note: '' }));
      setChoices({ from: 0, to: text.length, list, at: 0 });
    }
  }

  return html`<div class="field search">
    <div class="coloured" aria-hidden="true">${coloured(text, parsed.tokens, wrong)}${'\u200b'}</div>
    <textarea ref=${area} data-ui="search" id="search" rows="1" spellcheck=${false} autocapitalize="off" autocomplete="off"
      aria-label="Search" aria-invalid=${wrong ? 'true' : 'false'} placeholder=${narrow ? 'a word, field:value' : 'a word, field:value, level:>=warn, -not this'}
      value=${text} aria-autocomplete="list" aria-controls=${choices ? 'choices' : undefined}
      aria-activedescendant=${choices && choices.at >= 0 ? `choice-${choices.at}` : undefined}
      onInput=${(/** @type {InputEvent} */ e) => {
        const typed = /** @type {HTMLTextAreaElement} */ (e.currentTarget).value;
        undo.note(typed, e.timeStamp);
        onText(typed);
        void complete(typed);
      }}
      onKeyDown=${key} onBlur=${() => setTimeout(() => setChoices(null), 150)}></textarea>
    ${
      choices &&
      html`<ul class="choices" id="choices" role="listbox" aria-label="Completions">
      ${choices.list.map(
        (choice, i) =>
          html`<li id=${`choice-${i}`} role="option" aria-selected=${i === choices.at} onMouseDown=${(/** @type {MouseEvent} */ e) => {
            e.preventDefault();
            take(choice);
          }}><span>${visible(choice.text)}</span><small>${choice.note}</small></li>`,
      )}
    </ul>`
    }
  </div>`;
}

/** Says whether a key undoes, or does again. @param {KeyboardEvent} event @returns {'undo' | 'redo' | null} */
function undoOf(event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return null;
  const key = event.key.toLowerCase();
  if (key === 'y' || (key === 'z' && event.shiftKey)) return 'redo';
  return key === 'z' ? 'undo' : null;
}

/**
 * @param {string} text
 * @param {import('../lib/search.js').Token[]} tokens
 * @param {{from: number, to: number} | null} wrong
 */
function coloured(text, tokens, wrong) {
  const end = text.trimEnd().length;
  if (wrong && wrong.from >= end) wrong = { from: Math.max(0, end - 1), to: end }; // what is missing follows the last character
  const parts = [];
  let at = 0;
  const cuts = [...tokens];
  if (wrong && !cuts.some((t) => t.from <= wrong.from && t.to >= wrong.to && t.to > t.from)) {
    cuts.push({ from: wrong.from, to: Math.max(wrong.to, wrong.from + 1), kind: 'rest' });
    cuts.sort((a, b) => a.from - b.from);
  }
  for (const token of cuts) {
    if (token.from < at) continue;
    if (token.from > at) parts.push(drawHidden(text.slice(at, token.from)));
    const bad = wrong && token.from < Math.max(wrong.to, wrong.from + 1) && token.to > wrong.from;
    parts.push(html`<span class=${`t-${token.kind} ${bad ? 'wrong' : ''}`}>${drawHidden(text.slice(token.from, token.to))}</span>`);
    at = token.to;
  }
  parts.push(drawHidden(text.slice(at)));
  return parts;
}

/**
 * Finds the part of a text that the server names in bytes.
 * @param {string} text
 * @param {{offset: number, length: number}} at
 */
function byteSpan(text, at) {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const from = decoder.decode(bytes.slice(0, at.offset)).length;
  return { from, to: from + decoder.decode(bytes.slice(at.offset, at.offset + at.length)).length };
}
