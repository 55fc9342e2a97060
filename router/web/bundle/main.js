import"./chunk-4ZDUXYDI.js";
