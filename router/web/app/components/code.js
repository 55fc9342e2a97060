// An editor of text by lines: a textarea over a coloured copy of its text, with numbers and marks beside the lines.
// A textarea has what a reader expects of the browser: undo, input methods, screen readers.

import { html, useLayoutEffect, useMemo, useRef } from '../../vendor/core.js';
import { Completions, useCompletion } from './completion.js';
import { drawHidden } from './hidden.js';

/**
 * @param {object} props
 * @param {string} props.text
 * @param {(text: string) => void} props.onText
 * @param {{text: string, kind: string}[][]} props.lines the text, coloured
 * @param {Map<number, unknown>} [props.marks] what stands beside a line, by its number from 1
 * @param {Map<number, import('../lib/yamltext.js').Fault[]>} [props.faults] what is wrong with a line, by its number
 * @param {Set<number>} [props.failing] the lines at which samples fail
 * @param {Map<number, string>} [props.notes] what is said at the end of a line, by its number; it stands elsewhere as well
 * @param {number | null} [props.wrong] the place of an error
 * @param {string} props.label
 * @param {boolean} [props.readOnly]
 * @param {(area: HTMLTextAreaElement) => void} [props.onReady]
 * @param {import('./completion.js').Complete} [props.complete] what may follow
 */
export function CodeEditor({ text, onText, lines, marks, faults, failing, notes, wrong = null, label, readOnly, onReady, complete }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() => {
    if (area.current) onReady?.(area.current);
  }, []);

  const completion = useCompletion(area, complete);
  /**
   * Tab indents by two blanks while the text is edited. It moves on after Escape, and if Tab also brought the focus here,
   * for those who go through the page by keys.
   */
  const leaves = useRef(false);
  const used = useRef(false); // a key was pressed since the text has the focus
  function focus() {
    leaves.current = used.current = false;
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    if (event.key === 'Tab' && event.repeat && !used.current) return; // Tab is held since before
    used.current = true;
    if (completion.key(event)) {
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === 'Escape') leaves.current = true;
    else if (event.key === 'Tab' && !event.shiftKey && !leaves.current && !readOnly) {
      event.preventDefault();
      document.execCommand('insertText', false, '  ');
    } else if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && !event.isComposing && !readOnly) {
      const element = /** @type {HTMLTextAreaElement} */ (event.currentTarget);
      const before = element.value.slice(0, element.selectionStart);
      const indent = /^ */.exec(before.slice(before.lastIndexOf('\n') + 1))?.[0] ?? '';
      if (indent === '') return;
      event.preventDefault();
      document.execCommand('insertText', false, `\n${indent}`);
    } else if (event.key !== 'Shift') leaves.current = false;
  }

  const fault = useMemo(() => {
    if (wrong === null) return null;
    const before = text.slice(0, wrong).split('\n');
    return { line: before.length - 1, column: before[before.length - 1].length };
  }, [text, wrong]);
  const look = (/** @type {number} */ line) => (faults?.has(line) || failing?.has(line) ? 'bad' : '');
  /** @param {{text: string, kind: string}[]} pieces @param {number} line */
  function marked(pieces, line) {
    const known = faults?.get(line)?.filter((f) => f.column) ?? [];
    if (known.length > 0) return known.reduce((/** @type {{text: string, kind: string}[]} */ now, f) => underlineRange(now, ...rangeOf(f)), pieces);
    return fault?.line === line - 1 ? underline(pieces, fault.column) : pieces;
  }

  return html`<div class="codebox" onScroll=${completion.close}><div class="code">
    <div class="gutter" aria-hidden="true">
      ${lines.map((_, i) => html`<div class=${look(i + 1)}><span>${i + 1}</span>${marks && html`<small>${marks.get(i + 1)}</small>`}</div>`)}</div>
    <div class="codetext"><div class="coloured-lines" aria-hidden="true">${lines.map(
      (pieces, i) =>
        html`<div class=${look(i + 1)}>
          ${marked(pieces, i + 1).map((p) => (p.kind ? html`<span class=${`c-${p.kind}`}>${drawHidden(p.text)}</span>` : drawHidden(p.text)))}
          ${'\u200b'}${notes?.has(i + 1) && html`<q data-ui="line-note">${notes.get(i + 1)}</q>`}</div>`,
    )}</div>
    <textarea ref=${area} data-ui="editor" aria-label=${label} spellcheck=${false} autocapitalize="off" autocomplete="off" wrap="off" value=${text} readOnly=${readOnly}
      aria-description=${readOnly ? undefined : 'Tab indents. Escape, then Tab leaves the text.'}
      aria-invalid=${faults && faults.size > 0 ? 'true' : 'false'} onKeyDown=${key} onFocus=${focus}
        onKeyUp=${(/** @type {KeyboardEvent} */ e) => (leaves.current ||= e.key === 'Tab' && !used.current)} onBlur=${completion.close} onPointerDown=${completion.close}
      aria-autocomplete=${complete ? 'list' : undefined} aria-controls=${completion.shown ? 'completions' : undefined}
      aria-activedescendant=${completion.shown && completion.shown.at >= 0 ? `completion-${completion.shown.at}` : undefined}
      onInput=${(/** @type {InputEvent} */ e) => {
        onText(/** @type {HTMLTextAreaElement} */ (e.currentTarget).value);
        completion.offer();
      }}></textarea></div>
  </div><${Completions} area=${area} completion=${completion} /></div>`;
}

/**
 * Marks the piece of a line in which something is wrong.
 * @param {{text: string, kind: string}[]} pieces
 * @param {number} column
 */
function underline(pieces, column) {
  let from = 0;
  return pieces.map((piece) => {
    const here = column >= from && column < from + piece.text.length;
    from += piece.text.length;
    return here ? { ...piece, kind: `${piece.kind} c-wrong` } : piece;
  });
}

/**
 * The characters of a line that a fault is about, from 0; the last one is not among them.
 * @param {import('../lib/yamltext.js').Fault} fault
 * @returns {[number, number]}
 */
export function rangeOf({ line, column = 1, end_line: endLine, end_column: endColumn }) {
  if (!endLine || !endColumn) return [column - 1, column];
  return [column - 1, endLine > line ? Infinity : endColumn - 1];
}

/**
 * Marks a part of a line in which something is wrong; an empty part is one character long.
 * @param {{text: string, kind: string}[]} pieces
 * @param {number} from
 * @param {number} to
 */
export function underlineRange(pieces, from, to) {
  let begin = 0;
  const end = Math.max(to, from + 1);
  return pieces.flatMap((piece) => {
    const [first, last] = [from - begin, end - begin].map((at) => Math.min(Math.max(at, 0), piece.text.length));
    begin += piece.text.length;
    const part = (/** @type {number} */ a, /** @type {number} */ b, /** @type {string} */ kind) => (a < b ? [{ text: piece.text.slice(a, b), kind }] : []);
    return [...part(0, first, piece.kind), ...part(first, last, `${piece.kind} c-wrong`), ...part(last, piece.text.length, piece.kind)];
  });
}

/**
 * Puts the cursor on a line.
 * @param {HTMLTextAreaElement | null} area
 * @param {number} line from 1
 */
export function goToLine(area, line) {
  if (!area) return;
  const before =
    area.value
      .split('\n')
      .slice(0, line - 1)
      .join('\n').length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(before, before);
  const box = area.closest('.codebox');
  box?.scrollTo({ top: Math.max(0, (line - 5) * 21) });
}
