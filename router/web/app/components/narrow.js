// Whether the screen is narrow: that of a phone, or of a desktop at a zoom of 200 %.

import { useEffect, useState } from '../../vendor/core.js';

const narrow = matchMedia('(max-width: 760px)');
const phone = matchMedia('(max-width: 600px)');
const tight = matchMedia('(max-width: 1180px)');

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

/** @param {MediaQueryList} query */
function useMatch(query) {
  const [matches, setMatches] = useState(query.matches);
  useEffect(() => {
    const changed = () => setMatches(query.matches);
    query.addEventListener('change', changed);
    changed(); // the width may have changed since the picture
    return () => query.removeEventListener('change', changed);
  }, []);
  return matches;
}

export const useNarrow = () => useMatch(narrow);

/** Whether the actions beside the tabs of a list have no place there, and go into a menu. */
export const usePhone = () => useMatch(phone);

/** Whether the actions beside a line have no place there, and go into a menu. */
export const useTight = () => useMatch(tight);
