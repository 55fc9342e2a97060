// Trying a pattern or a program on one record: the pipeline that does it, and which parts of a line were captured.

/** What a pattern can be, with one to begin with and a line that it fits. */
export const patternKinds = /** @type {Record<string, {name: string, pattern: string, line: string}>} */ ({
  dissect: {
    name: 'dissect',
    pattern: '%{client} - %{user} [%{at}] "%{method} %{path} %{}" %{status} %{bytes}',
    line: '10.1.2.3 - ann [05/Jan/2026:10:11:12 +0100] "GET /cart HTTP/2" 200 5210',
  },
  grok: { name: 'grok', pattern: '%{IP:client} %{WORD:method} %{URIPATH:path} %{NUMBER:took:float}', line: '10.1.2.3 GET /cart 12.5' },
  regex: { name: 'regex', pattern: '(?<user>\\w+) logged in from (?<client>[\\d.]+)', line: 'ann logged in from 10.1.2.3' },
  date: { name: 'date format', pattern: '%d/%b/%Y:%H:%M:%S %z', line: '05/Jan/2026:10:11:12 +0100' },
});

/**
 * The pipeline that tries a pattern. JSON is YAML, too.
 * @param {string} kind
 * @param {string} pattern
 */
export function pipelineOfPattern(kind, pattern) {
  const options = kind === 'date' ? { field: 'message', formats: [pattern] } : { field: 'message', patterns: [pattern] };
  return JSON.stringify({ version: 2, processors: [{ [kind]: options }] });
}

/** The pipeline that runs a program. @param {string} source */
export function pipelineOfProgram(source) {
  return JSON.stringify({ version: 2, processors: [{ vrl: { source } }] });
}

/**
 * Finds the captured values in a line, long ones first, each in a place of its own.
 * @param {string} line
 * @param {[string, string][]} fields names and values
 * @returns {{text: string, name: string}[]} name: of the field; empty: not captured
 */
export function capturedParts(line, fields) {
  /** @type {{from: number, to: number, name: string}[]} */
  const found = [];
  for (const [name, value] of [...fields].sort((a, b) => b[1].length - a[1].length)) {
    let from = value === '' ? -1 : line.indexOf(value);
    while (from >= 0 && found.some((other) => from < other.to && from + value.length > other.from)) from = line.indexOf(value, from + 1);
    if (from >= 0) found.push({ from, to: from + value.length, name });
  }
  const parts = [];
  let at = 0;
  for (const { from, to, name } of found.sort((a, b) => a.from - b.from)) {
    if (from > at) parts.push({ text: line.slice(at, from), name: '' });
    parts.push({ text: line.slice(from, to), name });
    at = to;
  }
  if (at < line.length) parts.push({ text: line.slice(at), name: '' });
  return parts;
}
