// Parts of the address that a page does not know.

import { useEffect } from '../../vendor/core.js';
import { toast } from '../stores/toast.js';

/** Says what of the address is ignored. @param {string[]} parts */
export function useIgnored(parts) {
  const ignored = parts.join(', ');
  useEffect(() => {
    if (ignored) toast(`The page does not know this part of the address, and ignores it: ${ignored}`);
  }, [ignored]);
}
