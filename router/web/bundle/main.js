import"./chunk-64NDKC2K.js";
