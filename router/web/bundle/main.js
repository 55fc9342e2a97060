import"./chunk-UZJ25EZI.js";
