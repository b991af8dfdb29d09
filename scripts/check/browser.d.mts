export declare const BROWSER_ENTRIES: Record<string, number | undefined>;
export declare function bundleForBrowser(entry: string): Promise<{ code: string; gzip: number }>;
