import"./chunk-6FZLHFSU.js";
