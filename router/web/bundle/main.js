import"./chunk-ZXC5EDSW.js";
