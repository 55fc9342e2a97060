// The types of core.js, for tsc; the packages are those of deploy/tools/web.
export { h, render, Fragment, createContext } from 'preact';
export { useEffect, useLayoutEffect, useRef, useMemo, useCallback, useId, useState, useContext } from 'preact/hooks';
export { signal, computed, effect, batch, untracked } from '@preact/signals';
export type { Signal, ReadonlySignal } from '@preact/signals';
export function html(strings: TemplateStringsArray, ...values: unknown[]): any;
