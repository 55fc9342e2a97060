// Whether the screen is that of a phone.

import { useEffect, useState } from '../../vendor/core.js';

const query = matchMedia('(max-width: 760px)');

/**
 * The columns beside the line. On a phone there is place for one: the first that was chosen, else the row's source.
 * @param {boolean} narrow
 * @param {string[]} chosen
 * @param {{fields: {name: string, role: string | null}[]} | null} about
 */
export function columnsFor(narrow, chosen, about) {
  if (!narrow) return chosen;
  const source = about?.fields.find((f) => f.role === 'source')?.name;
  return chosen.length > 0 ? chosen.slice(0, 1) : source ? [source] : [];
}

export function useNarrow() {
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = () => setNarrow(query.matches);
    query.addEventListener('change', changed);
    changed(); // the width may have changed since the picture
    return () => query.removeEventListener('change', changed);
  }, []);
  return narrow;
}
