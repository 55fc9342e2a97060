import"./chunk-X2OBMJD3.js";
