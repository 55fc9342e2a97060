import"./chunk-JWWFYQAN.js";
