export declare const FOLDERS: Readonly<Record<string, string>>;
export declare function isInstalled(folder: string): boolean;
export declare function install(folder: string): boolean;
