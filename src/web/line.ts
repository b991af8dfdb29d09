/** The line to the agent, held by one tab for all of them. Loaded only there: other tabs need no parser and no transport. */
import { subscribeVia, transportFor } from "../connect/index.ts";
