import"./chunk-5WGXJQ7A.js";
