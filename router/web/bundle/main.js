import"./chunk-7GSBYU7J.js";
