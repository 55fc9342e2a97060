// Runs before all else: sets the theme, so that the wrong one does not flash, and loads the page again if a module cannot be
// loaded, as when the address is answered by routers of two versions.
(function () {
  const theme = read(localStorage, 'cordwood.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  addEventListener(
    'error',
    function (event) {
      const tries = Number(read(sessionStorage, 'cordwood.tries') || 0);
      if (!(event.target instanceof HTMLScriptElement) || tries >= 3) return;
      sessionStorage.setItem('cordwood.tries', String(tries + 1));
      setTimeout(() => location.reload(), 500);
    },
    true,
  );
  /**
   * @param {Storage} storage
   * @param {string} name
   */
  function read(storage, name) {
    try {
      return storage.getItem(name);
    } catch {
      return null;
    }
  }
})();
