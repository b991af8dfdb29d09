/** The element's own bundle: load it, and `<earshot-live>` works. */
import { defineEarshotLive } from "./element.ts";

defineEarshotLive();
