import"./chunk-V4ZUQKV2.js";
