import js from '@eslint/js';

const browser = Object.fromEntries(
  (
    'window document location history localStorage sessionStorage fetch navigator matchMedia getSelection addEventListener ' +
    'removeEventListener getComputedStyle Image XMLSerializer requestAnimationFrame setTimeout clearTimeout setInterval clearInterval queueMicrotask URL ' +
    'URLSearchParams AbortController DOMException ResizeObserver TextEncoder TextDecoder Element HTMLElement ' +
    'HTMLScriptElement FormData performance Blob crypto btoa setImmediate Response ReadableStream'
  )
    .split(' ')
    .map((name) => [name, 'readonly']),
);

const markup = ['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'dangerouslySetInnerHTML'];

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: 'module', globals: { ...browser, Buffer: 'readonly' } },
    rules: {
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-restricted-properties': ['error', ...markup.map((property) => ({ property }))],
    },
  },
];
