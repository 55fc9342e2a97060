import"./chunk-5L5VEZS6.js";
