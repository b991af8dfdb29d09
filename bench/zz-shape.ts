import { createHall, fill } from "./_hall.ts";
import { distinctShape, mixedRates, writeScript } from "./_session.ts";

const mode = process.argv[2];
if (mode === "shape") {
  const script = writeScript({ seconds: 22, sessions: 2, sentence_ms: 250, chunks: 1 });
  for (let i = 0; i < 6; i++) {
    const hall = createHall();
    await fill(
      hall,
      script,
      Array.from({ length: 180 }, (_, n) => distinctShape(n)),
      2000,
    );
    await hall.play(script, 2000, 22000);
    console.log(hall.tally);
  }
} else if (mode === "token") {
  const script = writeScript({ seconds: 22, sessions: 2, sentence_ms: 250, chunks: 25 });
  for (let i = 0; i < 4; i++) {
    const hall = createHall();
    await fill(
      hall,
      script,
      Array.from({ length: 180 }, (_, n) => distinctShape(n)),
      2000,
    );
    await hall.play(script, 2000, 22000);
    console.log(hall.tally);
  }
} else {
  const script = writeScript({ seconds: 32, sessions: 2, sentence_ms: 250, chunks: 5 });
  for (let i = 0; i < 2; i++) {
    const hall = createHall();
    await fill(
      hall,
      script,
      Array.from({ length: 10000 }, (_, n) => mixedRates(n)),
      2000,
    );
    await hall.play(script, 2000, 32000);
    console.log(hall.tally);
  }
}
