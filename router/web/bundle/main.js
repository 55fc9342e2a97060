import"./chunk-FT3QXZW7.js";
