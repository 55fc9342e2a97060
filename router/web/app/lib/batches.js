// Cuts a file into batches of whole lines.

/**
 * Reads a file by pieces and yields texts of whole lines, each of at most so many bytes unless one line is longer.
 * @param {Blob} file
 * @param {number} most bytes of a batch
 * @returns {AsyncGenerator<{text: string, end: number}>} end: how many bytes of the file are in it and the batches before
 */
export async function* batchesOf(file, most) {
  const newline = 10;
  let from = 0;
  while (from < file.size) {
    let size = most;
    let bytes = new Uint8Array(await file.slice(from, from + size).arrayBuffer());
    let cut = from + bytes.length >= file.size ? bytes.length : bytes.lastIndexOf(newline) + 1;
    while (cut === 0) {
      // one line is longer than a batch
      size *= 2;
      bytes = new Uint8Array(await file.slice(from, from + size).arrayBuffer());
      cut = from + bytes.length >= file.size ? bytes.length : bytes.lastIndexOf(newline) + 1;
    }
    from += cut;
    yield { text: new TextDecoder().decode(bytes.subarray(0, cut)), end: from };
  }
}

/**
 * Guesses what a file holds by its first line: objects, or plain lines.
 * @param {string} text
 */
export function typeOfLines(text) {
  const first = text.slice(0, Math.max(text.indexOf('\n'), 0) || text.length).trim();
  try {
    const value = JSON.parse(first);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return 'application/x-ndjson';
  } catch {
    // plain lines
  }
  return 'text/plain';
}
