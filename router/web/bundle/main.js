import"./chunk-C5HW3KOW.js";
