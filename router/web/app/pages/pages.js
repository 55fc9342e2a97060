// The pages that there are, in the order of the bar.

import { ExplorePage } from './explore.js';
import { TailPage } from './tail.js';

export const pages = [
  { id: 'explore', name: 'Explore', view: ExplorePage },
  { id: 'tail', name: 'Tail', view: TailPage },
];
