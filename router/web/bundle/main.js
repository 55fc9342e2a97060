import"./chunk-2GMSYFXX.js";
