// The search language: reads a text into tokens, for colours, and a tree, for clicks. The same grammar as the Go package
// router/explore/search, held to the same cases. Offsets are those of JavaScript's strings.

/** @typedef {{from: number, to: number, kind: string, field?: string}} Token */
/** @typedef {{from: number, to: number, form: string, text?: string, op?: string, lower?: string, upper?: string}} Value */
/**
 * @typedef {{kind: 'all' | 'any', of: Node[], from: number, to: number}
 *   | {kind: 'not', of: Node, from: number, to: number}
 *   | {kind: 'text', value: Value, from: number, to: number}
 *   | {kind: 'field', name: string, exact: boolean, values: Value[], from: number, to: number}} Node
 */
/** @typedef {{from: number, to: number, message: string}} Fault */

const mostBytes = 16 << 10;
const mostTerms = 200;
const mostDepth = 20;
const asText = ': put it in double quotes to search for it as text';

class SearchError extends Error {
  /**
   * @param {number} from
   * @param {number} to
   * @param {string} message
   */
  constructor(from, to, message) {
    super(message);
    this.fault = { from, to, message };
  }
}

/**
 * Reads a search text. Of a text that is wrong, the tokens before the fault are there.
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

const space = /[ \t\n\v\f\r\u00a0\u3000]/;

class Parser {
  /** @param {string} src */
  constructor(src) {
    this.src = src;
    this.at = 0;
    this.terms = 0;
    /** @type {Token[]} */
    this.tokens = [];
  }

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

  skipSpace() {
    while (this.at < this.src.length && space.test(this.src[this.at])) this.at++;
  }

  /** @param {number} from */
  wordEnd(from) {
    let end = from;
    while (end < this.src.length && !space.test(this.src[end]) && this.src[end] !== '(' && this.src[end] !== ')') end++;
    return end;
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {string} kind
   * @param {string} [field]
   */
  token(from, to, kind, field) {
    this.tokens.push(field ? { from, to, kind, field } : { from, to, kind });
  }

  /** @param {string} c */
  peek(c) {
    return this.src[this.at] === c;
  }

  /** @param {string} name */
  keyword(name) {
    const end = this.wordEnd(this.at);
    if (this.src.slice(this.at, end) !== name) return false;
    this.token(this.at, end, 'keyword');
    this.at = end;
    this.skipSpace();
    return true;
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
      this.at = from + i;
      return this.condition(word.slice(0, i), from);
    }
    this.at = end;
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

  /**
   * @param {string} name
   * @param {boolean} exact
   * @returns {Value}
   */
  value(name, exact) {
    const from = this.at;
    if (from === this.src.length || space.test(this.src[from]) || this.peek(')')) {
      throw new SearchError(from, from, `a value of ${name} is missing`);
    }
    if (exact && /[~<>]/.test(this.src[from])) {
      const message = `${name}= compares with the text that follows; write ${name}:${this.src[from]}… , or put the text ` + 'in double quotes';
      throw new SearchError(from, from + 1, message);
    }
    if (this.peek('~')) return this.regex(name);
    const op = /^(>=|<=|>|<)/.exec(this.src.slice(from, from + 2))?.[0];
    if (op) {
      this.token(from, from + op.length, 'operator');
      this.at += op.length;
      const lower = this.bound(name);
      return { from, to: this.at, form: 'compare', op, lower };
    }
    return exact ? this.literal(name) : this.loose(name);
  }

  /** @param {string} name */
  bound(name) {
    const value = this.literal(name);
    if (!value.text) throw new SearchError(value.from, value.to, `a value of ${name} is missing`);
    return value.text;
  }

  /**
   * @param {string} name
   * @returns {Value}
   */
  literal(name) {
    const from = this.at;
    if (this.peek('"')) {
      const text = this.quotes(false);
      this.token(from, this.at, 'value', name);
      const to = this.at;
      this.endOfQuoted();
      return { from, to, form: 'quoted', text };
    }
    this.at = this.wordEnd(from);
    this.token(from, this.at, 'value', name);
    return { from, to: this.at, form: 'plain', text: this.src.slice(from, this.at) };
  }

  /**
   * @param {string} name
   * @returns {Value}
   */
  loose(name) {
    const from = this.at;
    if (this.peek('"')) {
      const text = this.quotes(false);
      if (this.src.startsWith('..', this.at)) return this.upper(name, from, text);
      this.token(from, this.at, 'value', name);
      const to = this.at;
      this.endOfQuoted();
      return { from, to, form: 'quoted', text };
    }
    const end = this.wordEnd(from);
    const word = this.src.slice(from, end);
    const dots = word.indexOf('..');
    if (dots > 0 && dots + 2 < word.length) {
      this.at = from + dots;
      return this.upper(name, from, word.slice(0, dots));
    }
    this.at = end;
    this.token(from, end, 'value', name);
    return wordValue(word, from);
  }

  /**
   * @param {string} name
   * @param {number} from
   * @param {string} lower
   * @returns {Value}
   */
  upper(name, from, lower) {
    this.token(from, this.at, 'value', name);
    this.token(this.at, this.at + 2, 'operator');
    this.at += 2;
    const upper = this.bound(name);
    return { from, to: this.at, form: 'between', lower, upper };
  }

  /**
   * @param {string} name
   * @returns {Value}
   */
  regex(name) {
    const from = this.at;
    this.at++;
    let text;
    if (this.peek('"')) {
      text = this.quotes(true);
      this.endOfQuoted();
    } else {
      this.at = this.wordEnd(this.at);
      text = this.src.slice(from + 1, this.at);
    }
    this.token(from, this.at, 'regex', name);
    if (text === '') {
      const message = 'the regular expression is missing; put it in double quotes if it contains blanks or parentheses';
      throw new SearchError(from, this.at, message);
    }
    return { from, to: this.at, form: 'regex', text };
  }

  /**
   * Reads a text in double quotes: \" is a quote and \\ a backslash, of which both stay in a regular expression.
   * @param {boolean} regex
   */
  quotes(regex) {
    const from = this.at;
    let text = '';
    for (let i = from + 1; i < this.src.length; i++) {
      if (this.src[i] === '"') {
        this.at = i + 1;
        return text;
      }
      if (this.src[i] === '\\' && (this.src[i + 1] === '"' || this.src[i + 1] === '\\')) {
        i++;
        if (regex && this.src[i] === '\\') text += '\\';
      }
      text += this.src[i];
    }
    throw new SearchError(from, this.src.length, 'the double quote is not closed; write \\" for a quote in a text');
  }

  endOfQuoted() {
    const end = this.wordEnd(this.at);
    if (end > this.at) {
      const message = `a blank is missing between the closing quote and ${this.src.slice(this.at, end)}`;
      throw new SearchError(this.at, end, message);
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

/**
 * @param {string} text
 * @param {number} from
 * @returns {Value}
 */
function wordValue(text, from) {
  const form = text === '*' ? 'present' : text.includes('*') ? 'pattern' : 'plain';
  return { from, to: from + text.length, form, text };
}
