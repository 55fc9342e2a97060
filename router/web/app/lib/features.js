// What the server offers of what the page can show.

export const offers = { hits: true, facets: true, context: false, sql: false };
