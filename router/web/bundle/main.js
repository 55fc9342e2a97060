import"./chunk-ZJS5S2OY.js";
