import"./chunk-JZHEPL4G.js";
