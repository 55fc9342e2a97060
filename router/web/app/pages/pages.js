// The pages that there are, in the order of the bar.

import { ExplorePage } from './explore.js';

export const pages = [{ id: 'explore', name: 'Explore', view: ExplorePage }];
