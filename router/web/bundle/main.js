import"./chunk-YDNSPX4U.js";
