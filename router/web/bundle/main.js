import"./chunk-U3MTA3LE.js";
