export declare function bundleForBrowser(entry: string): Promise<{ code: string; gzip: number }>;
