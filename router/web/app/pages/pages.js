// The pages that there are, in the order of the bar.

import { ClusterPage } from './cluster.js';
import { ExplorePage } from './explore.js';
import { SqlPage } from './sql.js';
import { TailPage } from './tail.js';

export const pages = [
  { id: 'explore', name: 'Explore', view: ExplorePage },
  { id: 'tail', name: 'Tail', view: TailPage },
  { id: 'sql', name: 'SQL', view: SqlPage },
  { id: 'cluster', name: 'Cluster', view: ClusterPage },
];
