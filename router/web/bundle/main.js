import"./chunk-ALUPWO7W.js";
