import"./chunk-Y7IDU5AM.js";
