import"./chunk-XPHS6JSY.js";
