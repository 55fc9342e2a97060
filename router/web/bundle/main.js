import"./chunk-YARF7NFP.js";
