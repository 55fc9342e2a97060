import"./chunk-AUCKVIZY.js";
