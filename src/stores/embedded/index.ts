/** `earshot/stores/embedded`: the log on disk, for a producer that must survive a restart, and tools to read and back it up. */
export type { LogEntry } from "../../hub/store.ts";
export { type Backup, backupLog, type Restored, restoreLog } from "./backup.ts";
export type { LogReading, LogReadingOptions } from "./log-reader.ts";
export { readLog } from "./log-reader.ts";
export { type EmbeddedStore, type EmbeddedStoreOptions, openEmbeddedStore } from "./store.ts";
