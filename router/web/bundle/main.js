import"./chunk-WCNKIO2G.js";
