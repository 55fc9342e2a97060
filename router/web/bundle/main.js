import"./chunk-DEZFY6KS.js";
