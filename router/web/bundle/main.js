import"./chunk-UU6IHCFS.js";
