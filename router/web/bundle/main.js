import"./chunk-EO47BLYQ.js";
