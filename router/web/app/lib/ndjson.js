// Lines of JSON from a stream of bytes.

import { bareFields } from './bare.js';

/**
 * @param {ReadableStream<Uint8Array>} stream
 * @returns {AsyncGenerator<{values: any[], sizes: number[]}>} what each piece of the stream completed
 */
export async function* readLines(stream) {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + decoder.decode(value, { stream: !done })).split('\n');
      rest = done ? '' : /** @type {string} */ (lines.pop());
      const full = lines.filter((line) => line.trim() !== '');
      yield { values: full.map((line) => JSON.parse(line, bareFields)), sizes: full.map((line) => line.length) };
      if (done) return;
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
