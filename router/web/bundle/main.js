import"./chunk-6X5C2SGU.js";
