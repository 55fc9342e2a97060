import"./chunk-QLJ6QYCD.js";
