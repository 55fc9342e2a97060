// Parses the search language into tokens, which the page colours, and a tree, which clicks change. The Go package
// router/explore/search has the same grammar. Both are tested with the same cases.

import { Reader, SearchError, space, wordValue } from './searchreader.js';

/** @typedef {import('./searchreader.js').Token} Token */
/** @typedef {import('./searchreader.js').Value} Value */
/** @typedef {import('./searchreader.js').Fault} Fault */
/**
 * @typedef {{kind: 'all' | 'any', of: Node[], from: number, to: number}
 *   | {kind: 'not', of: Node, from: number, to: number}
 *   | {kind: 'text', value: Value, from: number, to: number}
 *   | {kind: 'field', name: string, exact: boolean, values: Value[], from: number, to: number}} Node
 */
const mostBytes = 16 << 10;
const mostTerms = 200;
const mostDepth = 20;
const asText = ': put it in double quotes to search for it as text';

/**
 * Parses a search text. If the text is wrong, the result has the tokens before the fault.
 * @param {string} text
 * @returns {{tokens: Token[], root: Node, fault: Fault | null}}
 */
export function parseSearch(text) {
  const parser = new Parser(text);
  /** @type {Node} */
  const everything = { kind: 'all', of: [], from: 0, to: text.length };
  try {
    return { root: parser.whole() ?? everything, tokens: parser.tokens, fault: null };
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    return { root: everything, tokens: parser.tokens, fault: error.fault };
  }
}

class Parser extends Reader {
  terms = 0;

  /** @returns {Node | null} */
  whole() {
    const bytes = new TextEncoder().encode(this.src).length;
    if (bytes > mostBytes) {
      throw new SearchError(0, this.src.length, `it has ${bytes} bytes, and at most ${mostBytes} are allowed`);
    }
    const nul = this.src.indexOf('\0');
    if (nul >= 0) throw new SearchError(nul, nul + 1, 'it is not valid UTF-8, or contains a NUL character');
    this.skipSpace();
    if (this.at === this.src.length) return null;
    const root = this.query(0);
    if (this.at < this.src.length) {
      throw new SearchError(this.at, this.at + 1, `unmatched parenthesis${asText}`);
    }
    return root;
  }

  atKeyword() {
    const word = this.src.slice(this.at, this.wordEnd(this.at));
    return word === 'OR' || word === 'AND';
  }

  /**
   * @param {number} depth
   * @returns {Node}
   */
  query(depth) {
    const of = [this.and(depth)];
    while (this.keyword('OR')) of.push(this.and(depth));
    return of.length === 1 ? of[0] : { kind: 'any', of, from: of[0].from, to: of[of.length - 1].to };
  }

  /**
   * @param {number} depth
   * @returns {Node}
   */
  and(depth) {
    /** @type {Node[]} */
    const of = [];
    for (;;) {
      of.push(this.unary(depth));
      if (this.keyword('AND')) continue;
      if (this.at === this.src.length || this.peek(')') || this.atKeyword()) break;
    }
    return of.length === 1 ? of[0] : { kind: 'all', of, from: of[0].from, to: of[of.length - 1].to };
  }

  /**
   * @param {number} depth
   * @returns {Node}
   */
  unary(depth) {
    const from = this.at;
    if (this.keyword('NOT')) return this.negated(from, depth);
    if (!this.peek('-')) return this.term(depth);
    this.at++;
    const rest = this.src.slice(this.at, this.wordEnd(this.at));
    if (rest.startsWith('-') || (rest === '' && !this.peek('('))) {
      const message = `no term follows the hyphen${asText}`;
      throw new SearchError(from, this.wordEnd(this.at), message);
    }
    this.token(from, this.at, 'keyword');
    return this.negated(from, depth);
  }

  /**
   * @param {number} from
   * @param {number} depth
   * @returns {Node}
   */
  negated(from, depth) {
    const word = this.src.slice(this.at, this.wordEnd(this.at));
    if (word === 'NOT' || word.startsWith('-')) {
      const message = `${word} follows NOT or a hyphen: leave out both, or write NOT (NOT a)${asText}`;
      throw new SearchError(this.at, this.wordEnd(this.at), message);
    }
    const of = this.term(depth);
    return { kind: 'not', of, from, to: of.to };
  }

  /**
   * @param {number} depth
   * @returns {Node}
   */
  term(depth) {
    if (this.at === this.src.length || this.peek(')') || this.atKeyword()) throw this.missing();
    if (this.peek('(')) return this.group(depth);
    this.countTerm();
    return this.leaf();
  }

  countTerm() {
    if (++this.terms > mostTerms) {
      throw new SearchError(this.at, this.wordEnd(this.at), `it has more than ${mostTerms} terms`);
    }
  }

  missing() {
    const end = Math.min(Math.max(this.wordEnd(this.at), this.at + 1), this.src.length);
    const what = this.at < this.src.length ? this.src.slice(this.at, end) : 'the end of the text';
    return new SearchError(this.at, end, `a word or a condition is expected before ${what}; AND, OR and NOT must be before or between terms${asText}`);
  }

  /**
   * @param {number} depth
   * @returns {Node}
   */
  group(depth) {
    const open = this.at;
    if (depth === mostDepth) {
      throw new SearchError(open, open + 1, `parentheses are nested more than ${mostDepth} deep`);
    }
    this.token(open, open + 1, 'paren');
    this.at++;
    this.skipSpace();
    const inner = this.query(depth + 1);
    const to = this.closeGroup(open);
    return { ...inner, from: open, to };
  }

  /** @param {number} open */
  closeGroup(open) {
    if (!this.peek(')')) throw new SearchError(open, open + 1, 'the parenthesis is not closed');
    this.token(this.at, this.at + 1, 'paren');
    const to = ++this.at;
    this.skipSpace();
    return to;
  }

  /** @returns {Node} */
  leaf() {
    const from = this.at;
    if (this.peek('~')) {
      const value = this.regex('');
      this.skipSpace();
      return { kind: 'text', value, from: value.from, to: value.to };
    }
    if (this.peek('"')) return this.phrase();
    const end = this.wordEnd(from);
    const word = this.src.slice(from, end);
    const i = word.search(/[:=]/);
    if (i > 0 && namesField(word, i, this.src.slice(end))) {
      this.moveTo(from + i);
      return this.condition(word.slice(0, i), from);
    }
    this.moveTo(end);
    const form = otherOperator(word);
    if (form) throw new SearchError(from, end, form + asText);
    this.token(from, end, 'word');
    this.skipSpace();
    return { kind: 'text', value: wordValue(word, from), from, to: end };
  }

  /** @returns {Node} */
  phrase() {
    const from = this.at;
    const text = this.quotes(false);
    const to = this.at;
    if (this.peek(':') || this.peek('=')) return this.condition(text, from);
    this.token(from, to, 'phrase');
    if ([...text].every((c) => space.test(c))) throw new SearchError(from, to, 'the phrase is empty');
    this.endOfQuoted();
    this.skipSpace();
    return { kind: 'text', value: { from, to, form: 'quoted', text }, from, to };
  }

  /**
   * @param {string} name
   * @param {number} from
   * @returns {Node}
   */
  condition(name, from) {
    const exact = this.peek('=');
    this.token(from, this.at, 'field', name);
    this.token(this.at, this.at + 1, 'operator');
    this.at++;
    const values = this.peek('(') ? this.list(name) : [this.value(name, exact)];
    const to = this.endOfTokens();
    this.skipSpace();
    return { kind: 'field', name: name === '*' ? '' : name, exact, values, from, to };
  }

  endOfTokens() {
    return this.tokens[this.tokens.length - 1].to;
  }

  /** @param {string} name */
  list(name) {
    const open = this.at;
    this.token(open, open + 1, 'paren');
    this.at++;
    /** @type {Value[]} */
    const values = [];
    for (;;) {
      this.skipSpace();
      if (this.at === this.src.length || this.peek(')') || this.peek('(') || this.atKeyword()) {
        throw new SearchError(open, Math.min(this.at + 1, this.src.length), `a value of ${name} is missing`);
      }
      this.countTerm();
      values.push(this.value(name, this.src[open - 1] === '='));
      this.skipSpace();
      if (this.keyword('OR')) continue;
      if (this.peek(')')) {
        this.closeGroup(open);
        return values;
      }
      if (this.at === this.src.length) throw new SearchError(open, open + 1, 'the parenthesis is not closed');
      const message = `OR is missing between the values of ${name}: write ${name}:(a OR b)`;
      throw new SearchError(this.at, this.wordEnd(this.at), message);
    }
  }
}

/**
 * What to write in place of an operator of another language; empty if there is none.
 * @param {string} word
 */
function otherOperator(word) {
  if (word.includes('&&') || word === '&') return '& is not an operator: write AND between two terms';
  if (word.includes('||') || word === '|') return '| is not an operator: write OR between two terms';
  if (word === '!') return '! is not an operator: write - directly before the term to exclude';
  if (/^![\p{L}\p{Nd}]/u.test(word)) return `! is not an operator: write -${word.slice(1)} to exclude it`;
  return '';
}

/**
 * Reports whether the part of a word before i is the name of a field: not in 12:30, http://x and a word that ends so.
 * @param {string} word
 * @param {number} i
 * @param {string} rest what follows the word
 */
function namesField(word, i, rest) {
  const after = word.slice(i + 1);
  if (after === '' && !rest.startsWith('(')) return false;
  return !/^[0-9]/.test(word) && !after.startsWith('//');
}
