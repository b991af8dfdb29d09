export declare const MOST_BYTES: number;
export interface BundledFile {
  name: string;
  text: string;
  gzip: number;
}
export declare function bundleWeb(
  extra?: Record<string, string>,
): Promise<{ files: BundledFile[]; size(name: string): number }>;
