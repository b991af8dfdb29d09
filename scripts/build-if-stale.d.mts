/** Builds `dist` if the sources are newer. */
export function buildIfStale(): void;
