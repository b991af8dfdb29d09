export declare const MOST_FIRST_BYTES: number;
export declare function bundleInspector(): Promise<{
  files: { name: string; text: string }[];
  first: number;
}>;
export declare function writeInspector(folder: string): Promise<number>;
