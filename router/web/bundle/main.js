import"./chunk-6VG5TZ42.js";
