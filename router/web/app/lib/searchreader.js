// Reads the parts of a search text: words, quoted texts, regular expressions and the values of conditions. Offsets count
// UTF-16 code units, as in JavaScript's strings.

/** @typedef {{from: number, to: number, kind: string, field?: string}} Token */
/** @typedef {{from: number, to: number, form: string, text?: string, op?: string, lower?: string, upper?: string}} Value */
/** @typedef {{from: number, to: number, message: string}} Fault */

export class SearchError extends Error {
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

export const space = /[ \t\n\v\f\r\u00a0\u3000]/;

/** Reader moves through a search text and collects its tokens. */
export class Reader {
  at = 0;
  /** @type {Token[]} */
  tokens = [];

  /** @param {string} src */
  constructor(src) {
    this.src = src;
  }

  /**
   * Moves to an offset. The type checker takes an assignment to 'at' in a subclass for a declaration.
   * @param {number} at
   */
  moveTo(at) {
    this.at = at;
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
   * Reads a text in double quotes. \" is a quote and \\ is a backslash. In a regular expression, both backslashes of \\ stay.
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
 * @param {string} text
 * @param {number} from
 * @returns {Value}
 */
export function wordValue(text, from) {
  const form = text === '*' ? 'present' : text.includes('*') ? 'pattern' : 'plain';
  return { from, to: from + text.length, form, text };
}
