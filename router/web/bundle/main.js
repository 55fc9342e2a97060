import"./chunk-QR3ZF7ZA.js";
