import"./chunk-2YIKYOBC.js";
