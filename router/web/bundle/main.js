import"./chunk-IXYLNWSX.js";
