// MUSTs that no test shows yet, by the work that will. Cite an id in a test's title and take it off this list:
// requirements-coverage.test.ts fails on an id that is neither cited nor listed, and on one that is both.

export const OWED: Record<string, string[]> = {
  // filter, shape, segment, coalesce, budget, pace
  delivery: [],
  // framing, transports, authentication, the served manifest
  wire: [],
  // the log, resuming, restarts
  durability: [],
  // the subscriber and its announcer, and how it puts questions to a person and takes their answers
  listener: [],
  // the local transports: Unix socket and named pipe, stdio, gRPC
  desk: [],
  // live regions, the element, the page
  // the suite and its reports
  conformance: ["CNF-21", "LVL-01", "LVL-02"],
  // duties of people, which no test can show; each with its reason
  process: [
    // how to read the specification; it asks nothing of running code
    "ENV-40",
    // a judgement about each field; what must never appear in one is SEC-09 and testable
    "SEC-10",
    // something people read and audit before they deploy
    "SEC-20",
    // bind whoever designs an extension; a test sees one extension's data, never the design of all
    "EXT-02",
    "EXT-03",
    "EXT-04",
    "EXT-05",
    "EXT-06",
    "EXT-11",
    // we claim no profile, so there are no profile fixtures to pass
    "EXT-12",
    // forbids building on a change that has not happened; nothing to observe
    "VER-09",
    // how a maintainer answers a dispute about a claim
    "LVL-05",
  ],
};
