// Whether the screen is that of a phone.

import { useEffect, useState } from '../../vendor/core.js';

const query = matchMedia('(max-width: 760px)');

export function useNarrow() {
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = () => setNarrow(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  return narrow;
}
