// Cuts a file into batches of whole lines.

/**
 * Reads a file by pieces and yields texts of whole lines, each of at most so many bytes unless one line is longer.
 * @param {Blob} file
 * @param {number} most bytes of a batch
 * @returns {AsyncGenerator<{text: string, end: number}>} end: how many bytes of the file are in it and the batches before
 */
export async function* batchesOf(file, most) {
  for (let from = 0; from < file.size;) {
    let size = most;
    let bytes = await readBytes(file, from, size);
    let cut = bytes.lastIndexOf(newline) + 1;
    while (cut === 0 && from + bytes.length < file.size) {
      size *= 2; // one line is longer than a batch
      bytes = await readBytes(file, from, size);
      cut = bytes.indexOf(newline) + 1;
    }
    if (cut === 0 || (size === most && from + bytes.length >= file.size)) cut = bytes.length;
    from += cut;
    yield { text: new TextDecoder().decode(bytes.subarray(0, cut)), end: from };
  }
}

const newline = 10;

/**
 * @param {Blob} file
 * @param {number} from
 * @param {number} size
 */
async function readBytes(file, from, size) {
  return new Uint8Array(await file.slice(from, from + size).arrayBuffer());
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
