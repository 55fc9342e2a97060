import"./chunk-YULDBG7Z.js";
