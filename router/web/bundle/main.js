import"./chunk-5YSMSA4K.js";
