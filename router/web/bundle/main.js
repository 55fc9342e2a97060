import"./chunk-247LG4LX.js";
