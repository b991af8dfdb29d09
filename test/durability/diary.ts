/** What a process that will be killed is told, and what it leaves behind about itself. */
export interface Orders {
  readonly directory: string;
  /** Which life of the agent this is. */
  readonly life: number;
  readonly seed: number;
  /** No new customers: see to those there are, and end in order. */
  readonly finish: boolean;
  readonly crash?: CrashOrder;
}

export type CrashOrder =
  | {
      readonly at: "write";
      readonly number: number;
      readonly how: "before" | "torn" | "unsynced" | "synced";
      /** For torn: how much of it is written. */
      readonly part: number;
    }
  | { readonly at: "bank"; readonly number: number; readonly how: "before" | "after" };

export type DiaryLine =
  | { readonly kind: "joined"; readonly subscription_id: string; readonly again: boolean }
  | {
      readonly kind: "heard";
      readonly event_id: string;
      readonly cursor: boolean;
      readonly type: string;
      readonly session_id: string;
      readonly chunk?: string;
      readonly output_id?: string;
      readonly reply_token?: string;
      readonly timestamp?: string;
    }
  | { readonly kind: "answered"; readonly reply_token: string; readonly decision: "accept" | "reject" }
  | { readonly kind: "acknowledged"; readonly session_id: string; readonly text: string }
  | { readonly kind: "outcome"; readonly name: string; readonly outcome: string }
  | { readonly kind: "completed"; readonly session_id: string }
  | { readonly kind: "failed"; readonly message: string };
